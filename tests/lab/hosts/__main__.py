"""Labs by hand: boot one and look around in it, see which exist, take down what was left.

python -m tests.lab.hosts up 2 /tmp/lab
python -m tests.lab.hosts list
python -m tests.lab.hosts down
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.hosts.lab import Lab
from tests.lab.hosts.records import existing, remove


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.hosts")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="boot hosts that stay until `down`")
    up.add_argument("count", type=int, help="how many hosts gpu1, gpu2, ...")
    up.add_argument("directory", type=Path, help="a new or empty folder for the lab's files")
    up.add_argument("--extra", action="append", default=[], help="one more host, by name")
    commands.add_parser("list", help="the labs of this machine")
    commands.add_parser("down", help="take down every lab that no running test answers for")
    arguments = parser.parse_args()
    try:
        if arguments.command == "up":
            _up(arguments.count, arguments.directory, arguments.extra)
        else:
            _for_each(take_down=arguments.command == "down")
    except ValueError as error:
        parser.error(str(error))
    except LabError as error:
        sys.exit(str(error))


def _up(count: int, directory: Path, extra: list[str]) -> None:
    lab = Lab(count, directory, extra=extra, outlives_parent=True)
    lab.up()
    for host in lab.hosts.values():
        print(f"{host.name} {host.address}: ssh -F {lab.access.configuration} {host.name}")
    print(f"in their network: {' '.join(lab.command(['COMMAND']))}")


def _for_each(*, take_down: bool) -> None:
    for record in list(existing()):
        print(f"{record.name} in {record.directory}", end=": ", flush=True)
        if take_down:
            print("down" if remove(record) else "left alone, a running test answers for it")
        else:
            print("stays until `down`" if record.kept else "of a test run")


if __name__ == "__main__":
    main()
