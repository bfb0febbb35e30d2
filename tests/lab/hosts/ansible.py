"""What Ansible must know to reach the hosts of a lab, apart from the project's own inventory."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.hosts.lab import Lab


def connection_variables(lab: Lab, host: str) -> dict[str, str]:
    """Variables of one host; they hold for a playbook run inside the lab's network or outside."""
    return {
        "ansible_host": str(lab.addresses[host]),
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": f"-F {lab.access.configuration}",
        # Ansible's own, without compression: the bytes never leave this machine.
        "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=60s",
        # Two labs have the same addresses, and must not share connections.
        "ansible_control_path_dir": str(lab.access.control_directory),
    }


def write_inventory(lab: Lab, path: Path) -> None:
    """Write an inventory of every host's connection variables, to use beside the one of groups.

    JSON is YAML: name it `*.json` or `*.yml`, and Ansible's yaml plugin reads it.
    """
    hosts = {host: connection_variables(lab, host) for host in lab.addresses}
    path.write_text(json.dumps({"all": {"hosts": hosts}}, indent=2) + "\n")
