"""Real programs as parts of a test: started, waited for, ended, and never left behind."""

from __future__ import annotations

import atexit
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.lab.errors import LabError

POLL_SECONDS = 0.1
LOG_LINES_SHOWN = 25


def base_environment() -> dict[str, str]:
    """The few variables a program needs; nothing else of the caller's shell can change a part."""
    kept = ("PATH", "HOME", "TMPDIR", "TZ")
    return {"LANG": "C.UTF-8"} | {name: os.environ[name] for name in kept if name in os.environ}


class ManagedProcess:
    """A program that runs from construction until `stop`, in a process group of its own.

    Its output goes to `log_path`. When this Python process ends without `stop`, by any signal, the
    whole group is ended too, unless `outlives_parent`: then only `stop`, or a kill of `group`, ends
    it.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        log_path: Path,
        name: str,
        cwd: Path | None = None,
        outlives_parent: bool = False,
    ) -> None:
        self.name = name
        self.log_path = log_path
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [str(argument) for argument in argv],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._stopped = False
        self._watched = not outlives_parent
        if self._watched:
            _Watcher.shared().add(self.group)

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    @property
    def group(self) -> int:
        """The process group of the program and its children."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code (negative: the signal that ended it), or None while it runs."""
        return self._process.poll()

    def log_tail(self, lines: int = LOG_LINES_SHOWN) -> str:
        """The last lines of the log."""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def wait_http(self, url: str, timeout: float, headers: Mapping[str, str] | None = None) -> None:
        """Return once a GET of `url` answers 200; `timeout` in seconds.

        Raises LabError with the end of the log as soon as the program has ended, or when the time
        is over.
        """
        deadline = time.monotonic() + timeout
        last = "no connection"
        while time.monotonic() < deadline:
            if self.exit_code is not None:
                raise self._failed(
                    f"ended with exit code {self.exit_code} before it answered {url}"
                )
            try:
                status = _get_status(url, headers or {}, deadline - time.monotonic())
            except (OSError, http.client.HTTPException) as error:
                last = type(error).__name__
            else:
                if status == 200:
                    return
                last = f"HTTP {status}"
            time.sleep(POLL_SECONDS)
        raise self._failed(f"did not answer 200 at {url} within {timeout:.0f} s (last: {last})")

    def send_signal(self, signal_number: int) -> None:
        """Signal the program itself, not its children."""
        self._process.send_signal(signal_number)

    def stop(self, grace_seconds: float = 10.0) -> int:
        """End the program and all that it started; returns its exit code; may be called twice.

        The program alone gets SIGTERM first: an engine that drains needs its children meanwhile.
        """
        if not self._stopped:
            if self.exit_code is None:
                self._process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(grace_seconds)
            with suppress(ProcessLookupError):
                os.killpg(self.group, signal.SIGKILL)
            self._process.wait()
            if self._watched:
                _Watcher.shared().remove(self.group)
            self._stopped = True
        return self._process.wait()

    def _failed(self, rule: str) -> LabError:
        tail = self.log_tail()
        return LabError(
            where=self.name, rule=rule, fix=f"read {self.log_path}, which ends with:\n{tail}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class _Watcher:
    """The one helper process that outlives us for a moment and ends the groups still registered."""

    _instance: _Watcher | None = None

    def __init__(self) -> None:
        script = Path(__file__).with_name("watcher.py")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        atexit.register(self._close)

    @classmethod
    def shared(cls) -> _Watcher:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def add(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _get_status(url: str, headers: Mapping[str, str], timeout: float) -> int:
    parts = urlsplit(url)
    assert parts.hostname is not None
    # http.client, unlike urllib.request, never sends a loopback request through a proxy of the
    # environment.
    connection = http.client.HTTPConnection(
        parts.hostname, parts.port, timeout=max(0.1, min(timeout, 5))
    )
    try:
        connection.request("GET", parts.path or "/", headers=dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()
