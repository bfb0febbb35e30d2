"""One booted host: an overlay on the shared root, systemd as its first process, SSH to reach it."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.hosts import cgroups
from tests.lab.hosts.access import Access
from tests.lab.hosts.base import Base
from tests.lab.hosts.network import Network
from tests.lab.processes import ManagedProcess, base_environment

BOOT_SECONDS = 60.0
SSH_PORT = 22
# The overlay lives in a mount namespace of this shell and is gone with it, however it ends.
# systemd-nspawn ends with 133 when the system inside asks for a reboot.
RUNNER = """
echo $$ > "$1/cgroup.procs"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$3/upper,workdir=$3/work" "$3/root"
shift 3
while :; do
  systemd-nspawn "$@" && status=0 || status=$?
  [ "$status" = 133 ] || exit "$status"
done
"""


@dataclass(frozen=True)
class Host:
    """A host of a lab. It keeps its files from boot to boot, until the lab goes down."""

    name: str
    address: IPv4Address
    directory: Path
    network: Network
    access: Access

    @property
    def group(self) -> str:
        """The control group that holds all its processes."""
        return f"{self.network.name}/{self.name}"

    @property
    def running(self) -> bool:
        """Whether it is booting, up, or on its way down."""
        return cgroups.populated(self.group)

    def boot(self, base: Base, bind_read_only: Mapping[Path, str]) -> ManagedProcess:
        """Start it without waiting; returns the process to stop in the end."""
        self._prepare()
        machine = self.network.namespace(self.name).name
        nspawn = [
            "--quiet",
            "--boot",
            f"--directory={self.directory / 'root'}",
            f"--machine={machine}",
            f"--hostname={self.name}",
            f"--network-namespace-path={self.network.namespace(self.name)}",
            # For the firewall of the host, which is its own network's.
            "--capability=CAP_NET_ADMIN",
            # No service manager or machine registry of the controller takes part.
            "--register=no",
            "--keep-unit",
            "--resolv-conf=off",
            "--timezone=off",
            "--link-journal=no",
            "--console=pipe",
            *(f"--bind-ro={source}:{target}" for source, target in bind_read_only.items()),
        ]
        runner = ["unshare", "--mount", "sh", "-euc", RUNNER, "runner"]
        process = ManagedProcess(
            [*runner, cgroups.create(self.group), base.root, self.directory, *nspawn],
            env=base_environment() | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            log_path=self.console,
            name=self.name,
            # Its processes end with the lab's control group, which the lab's keeper watches over.
            outlives_parent=True,
        )
        while not self.running and process.exit_code is None:
            time.sleep(0.01)
        return process

    @property
    def console(self) -> Path:
        """What it wrote while booting."""
        return self.directory / "console.log"

    def wait_booted(self, *, after_boot: str | None = None) -> None:
        """Return once systemd has started every unit, in a boot other than `after_boot`.

        Raises LabError, with the failed units or the end of the console, when it ends first, a unit
        fails, or BOOT_SECONDS pass.
        """
        deadline = time.monotonic() + BOOT_SECONDS
        while not self._answers() or self.boot_id() in ("", after_boot):
            if not self.running or time.monotonic() > deadline:
                tail = "\n".join(self.console.read_text(errors="replace").splitlines()[-25:])
                raise LabError(
                    where=self.name,
                    rule="it did not boot" if self.running else "it ended while booting",
                    fix=f"read its console, which ends with:\n{tail}",
                )
            time.sleep(0.05)
        state = self.run(["systemctl", "is-system-running", "--wait"], check=False).stdout.strip()
        if state != "running":
            failed = self.run(["systemctl", "--failed", "--no-legend", "--plain"]).stdout.strip()
            raise LabError(
                where=self.name,
                rule=f"systemd is {state or 'silent'}, not running",
                fix=f"see why these units failed:\n{failed}",
            )

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        check: bool = True,
        stdin: str = "",
        timeout_seconds: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the host as root, by SSH.

        Raises LabError with what it wrote when `check` and it fails, and
        `subprocess.TimeoutExpired` when it takes too long.
        """
        remote = shlex.join(str(argument) for argument in argv)
        done = subprocess.run(
            ["ssh", "-F", self.access.configuration, self.name, remote],
            env=base_environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
        if check and done.returncode:
            raise LabError(
                where=self.name,
                rule=f"`{remote}` ended with exit code {done.returncode}",
                fix=f"read what it said:\n{(done.stderr or done.stdout).strip()}",
            )
        return done

    def boot_id(self) -> str:
        """Changes with every boot; empty while the host cannot be asked."""
        done = self.run(["cat", "/proc/sys/kernel/random/boot_id"], check=False)
        return done.stdout.strip()

    def reboot(self) -> None:
        """Reboot as an operator would, and return once it is up again."""
        before = self.boot_id()
        # The connection may break before the command can say that it worked.
        self.run(["systemctl", "reboot"], check=False)
        self.wait_booted(after_boot=before)

    def _answers(self) -> bool:
        try:
            with self.network.connect(str(self.address), SSH_PORT, timeout_seconds=1.0) as probe:
                return probe.recv(4) == b"SSH-"
        except OSError:
            return False

    def _prepare(self) -> None:
        """Before its first boot, write what makes it itself into the overlay's upper layer."""
        upper = self.directory / "upper"
        if upper.exists():
            return
        for layer in ("root", "work", "upper/etc/ssh", "upper/root/.ssh"):
            (self.directory / layer).mkdir(parents=True, exist_ok=True)
        for private in ("root", "root/.ssh"):
            (upper / private).chmod(0o700)
        (upper / "etc/hostname").write_text(f"{self.name}\n")
        (upper / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n")
        (upper / "root/.ssh/authorized_keys").write_text(self.access.authorized_keys)
        key = upper / "etc/ssh/ssh_host_ed25519_key"
        key.write_text(self.access.host_key(self.name).read_text())
        key.chmod(0o600)
