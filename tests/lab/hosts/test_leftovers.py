from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import skipped_where_unavailable
from tests.lab.errors import LabError
from tests.lab.hosts import cgroups, records
from tests.lab.hosts.lab import Lab
from tests.lab.hosts.requirements import require

pytestmark = pytest.mark.hosts

NSPAWN = Path("/run/systemd/nspawn")

# Brings a lab up in the folder given, says its name, and is then killed as by a lost terminal.
KILLED_RUN = """
import os, signal, sys
from pathlib import Path
from tests.lab.hosts.lab import Lab
lab = Lab(1, Path(sys.argv[1]))
lab.up()
print(lab.network.name, lab._keeper.pid, flush=True)
if sys.argv[2] == "keeper too":
    os.kill(lab._keeper.pid, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module", autouse=True)
def machine() -> None:
    with skipped_where_unavailable():
        require()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Named here, because a test's own name makes its folder longer than sockets allow.
    return tmp_path_factory.mktemp("leftovers")


def traces(name: str, directory: Path) -> list[str]:
    """Where on this machine a lab can still be seen."""
    found = [str(path) for path in Path("/run/netns").glob(f"{name}*")]
    found += [str(path) for path in NSPAWN.rglob(f"{name}*")]
    found += [str(path) for path in directories_of_groups() if path.name == name]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [line for line in mounts if name in line or str(directory) in line]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            said = process.joinpath("cmdline").read_text() + process.joinpath("cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (name in said or str(directory) in said) and int(process.name) != os.getpid():
            found.append(said.replace("\0", " "))
    found += [record.name for record in records.existing() if record.name == name]
    return found + [str(directory)] * directory.exists()


def directories_of_groups() -> list[Path]:
    roots = [path for kind in ("cgroup", "cgroup2") for path, _ in cgroups.mounts(kind)]
    return [path for root in roots for path in root.glob("*") if path.is_dir()]


def until_gone(name: str, directory: Path) -> None:
    deadline = time.monotonic() + 20
    while left := traces(name, directory):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def killed_run(repository: Path, directory: Path, *, keeper_too: bool) -> tuple[str, int]:
    mode = "keeper too" if keeper_too else "alone"
    run = subprocess.run(
        [sys.executable, "-c", KILLED_RUN, str(directory), mode],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    name, keeper = run.stdout.split()
    return name, int(keeper)


def test_down_leaves_no_process_mount_namespace_group_or_file(folder):
    directory = folder / "lab"
    locks = set(NSPAWN.glob("locks/*"))
    with Lab(2, directory) as lab:
        name = lab.network.name
        host = lab.hosts["gpu1"]
        host.reboot()
        # As a connection that Ansible keeps open, and a program that a test forgot.
        control = ["-o", "ControlMaster=auto", "-o", "ControlPersist=60s"]
        control += ["-o", f"ControlPath={lab.access.control_directory}/shared"]
        ssh = ["ssh", "-F", str(lab.access.configuration), *control, "gpu1", "true"]
        subprocess.run(ssh, stderr=subprocess.DEVNULL, check=True)
        forgotten = subprocess.Popen(lab.command(["sleep", "300"]))
        assert len(traces(name, directory)) > 20
        assert len(set(NSPAWN.glob("locks/*")) - locks) == 2
    assert forgotten.wait() == -signal.SIGTERM
    until_gone(name, directory)
    assert set(NSPAWN.glob("locks/*")) <= locks
    lab.down()


def test_two_labs_stand_side_by_side_and_do_not_see_each_other(folder):
    with Lab(1, folder / "one") as one, Lab(1, folder / "two") as two:
        one.hosts["gpu1"].run(["touch", "/srv/one"])
        assert two.hosts["gpu1"].run(["ls", "/srv"]).stdout == ""
        name = two.network.name
        two.down()
        until_gone(name, folder / "two")
        assert one.hosts["gpu1"].run(["ls", "/srv"]).stdout == "one\n"


def test_the_keeper_takes_down_the_lab_of_a_killed_run(folder, repository):
    name, _ = killed_run(repository, folder / "lab", keeper_too=False)
    until_gone(name, folder / "lab")


def test_the_next_up_takes_down_what_a_run_killed_with_its_keeper_left(folder, repository):
    name, _ = killed_run(repository, folder / "lab", keeper_too=True)
    assert len(traces(name, folder / "lab")) > 10
    with Lab(1, folder / "another") as lab:
        assert lab.network.name != name
        assert not (folder / "lab").exists()
    until_gone(name, folder / "lab")


def test_a_kept_lab_is_found_again_as_it_was_and_ends_when_told(folder, repository):
    code = (
        "import sys; from pathlib import Path; from tests.lab.hosts.lab import Lab\n"
        "lab = Lab(1, Path(sys.argv[1]), outlives_parent=True); lab.up()\n"
        "print(lab.hosts['gpu1'].boot_id())"
    )
    made = [sys.executable, "-c", code, str(folder / "lab")]
    booted = subprocess.check_output(made, cwd=repository, text=True).strip()
    listing = [sys.executable, "-m", "tests.lab.hosts", "list"]
    assert "stays until `down`" in subprocess.check_output(listing, cwd=repository, text=True)
    with Lab(1, folder / "other"):
        pass
    lab = Lab(1, folder / "lab", outlives_parent=True)
    lab.up()
    name = lab.network.name
    assert lab.hosts["gpu1"].boot_id() == booted
    lab.down()
    until_gone(name, folder / "lab")


def test_a_host_that_does_not_boot_is_reported_with_its_console_and_leaves_nothing(
    folder, monkeypatch
):
    monkeypatch.setattr("secrets.token_hex", lambda _: "f00d00")
    lab = Lab(1, folder / "lab", bind_read_only={folder / "missing": "/mnt"})
    with pytest.raises(LabError, match="gpu1: it ended while booting") as caught:
        lab.up()
    assert "missing: No such file or directory" in str(caught.value)
    until_gone("perimeter-f00d00", folder / "lab")


def test_a_directory_that_holds_something_else_is_refused_untouched(folder):
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(LabError) as caught:
        Lab(1, folder).up()
    assert str(caught.value) == (
        f"{folder}: a lab owns its directory and removes it in the end, and this one is not empty\n"
        "  fix: name a new or empty directory"
    )
    assert (folder / "thesis.txt").exists()


def test_a_second_lab_in_the_directory_of_a_running_one_is_refused(folder, monkeypatch):
    monkeypatch.setattr(records, "CLAIM_SECONDS", 0.5)
    with Lab(1, folder / "lab"), pytest.raises(LabError) as caught:
        Lab(1, folder / "lab").up()
    assert str(caught.value) == (
        f"{folder / 'lab'}: another process has a lab in this directory\n"
        "  fix: give this lab a directory of its own, or end that process"
    )


def test_a_path_too_long_for_sockets_is_refused_before_anything_is_made(tmp_path):
    directory = tmp_path / ("long" * 20)
    with pytest.raises(LabError, match="a path of at most 70 plain characters"):
        Lab(1, directory)
    assert not directory.exists()


@pytest.mark.parametrize(
    ("count", "extra", "message"),
    [
        (0, [], "1 to 80 hosts"),
        (1, ["gpu1"], "two hosts of a lab have one name: gpu1, gpu1"),
        (1, ["A host"], "not a host name of at most 15 lower-case characters: 'A host'"),
    ],
)
def test_hosts_that_cannot_be_are_refused(folder, count, extra, message):
    with pytest.raises(ValueError, match=message):
        Lab(count, folder / "lab", extra=extra)
