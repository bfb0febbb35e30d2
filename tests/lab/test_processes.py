from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.errors import LabError
from tests.lab.ports import LOOPBACK, free_port
from tests.lab.processes import ManagedProcess, base_environment

# Starts a child of its own, says who it is, and then waits as a server would.
FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print(child.pid, flush=True)
child.wait()
"""


def start(code: str, folder: Path, *arguments: str) -> ManagedProcess:
    return ManagedProcess(
        [sys.executable, "-c", code, *arguments],
        env=base_environment(),
        log_path=folder / "part.log",
        name="the part",
    )


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def until(condition, seconds: float = 10.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


def test_stopping_ends_the_children_too(tmp_path):
    part = start(FAMILY, tmp_path)
    child = int(until(part.log_tail))
    assert part.stop() == -signal.SIGTERM
    until(lambda: not alive(child))
    assert part.stop() == -signal.SIGTERM


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace(tmp_path):
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(300)"
    )
    part = start(code, tmp_path)
    until(part.log_tail)
    assert part.stop(grace_seconds=0.2) == -signal.SIGKILL


@pytest.mark.parametrize("outlives", [False, True])
def test_a_killed_test_run_leaves_no_part_behind_unless_asked_to(tmp_path, outlives, repository):
    code = f"""
import os, signal, sys
from pathlib import Path
from tests.lab.processes import ManagedProcess, base_environment
part = ManagedProcess(
    [sys.executable, "-c", {FAMILY!r}], env=base_environment(),
    log_path=Path({str(tmp_path / "part.log")!r}), name="part", outlives_parent={outlives},
)
while not part.log_tail():
    pass
print(part.group, part.log_tail(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    group, child = map(int, run.stdout.split())
    if outlives:
        time.sleep(0.5)
        assert alive(group)
        assert alive(child)
        os.killpg(group, signal.SIGKILL)
    until(lambda: not alive(group) and not alive(child))


def test_a_program_that_ends_early_is_reported_with_its_exit_code_and_log(tmp_path):
    url = f"http://{LOOPBACK}:{free_port()}/health"
    part = start("print('the disk is full'); raise SystemExit(3)", tmp_path)
    with pytest.raises(LabError) as caught:
        part.wait_http(url, timeout=20)
    part.stop()
    assert str(caught.value) == (
        f"the part: ended with exit code 3 before it answered {url}\n"
        f"  fix: read {tmp_path}/part.log, which ends with:\nthe disk is full"
    )


def test_a_program_that_never_answers_is_reported_with_what_was_last_seen(tmp_path):
    with (
        start("import time; time.sleep(300)", tmp_path) as part,
        pytest.raises(LabError, match=r"did not answer 200 .* within 0 s \(last: Connection"),
    ):
        part.wait_http(f"http://{LOOPBACK}:{free_port()}/", timeout=0.3)


def test_waiting_sends_the_headers_and_takes_only_a_200_for_an_answer(tmp_path):
    code = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.headers["Authorization"] == "Bearer right" else 401)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
    port = free_port()
    with start(code, tmp_path, str(port)) as part:
        part.wait_http(f"http://{LOOPBACK}:{port}/", 20, {"Authorization": "Bearer right"})
        with pytest.raises(LabError, match="HTTP 401"):
            part.wait_http(f"http://{LOOPBACK}:{port}/", 0.5, {"Authorization": "Bearer wrong"})


def test_the_callers_environment_does_not_reach_a_part(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    part = start("import os; print(sorted(os.environ))", tmp_path)
    until(lambda: part.exit_code is not None)
    part.stop()
    assert "PYTHONWARNINGS" not in part.log_tail()
    assert "PATH" in part.log_tail()
