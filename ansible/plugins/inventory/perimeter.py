"""The deployment file as an inventory: `ansible-playbook -i deployments/NAME.yaml ...`."""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin  # type: ignore[attr-defined]

from model_packaging.errors import PerimeterError
from model_packaging.hosts.inventory import inventory_of

# Ansible reads the next string for `ansible-doc -t inventory perimeter`.
DOCUMENTATION = """
name: perimeter
short_description: Hosts and variables of a Perimeter deployment
description:
  - Reads a deployment file and the lock beside it, which C(package-model build) writes.
  - Every host is in C(gateway_hosts); those that run an engine are in C(engine_hosts).
options: {}
"""


class InventoryModule(BaseInventoryPlugin):
    """Yields what `model_packaging.hosts.inventory` finds, and nothing of its own."""

    NAME = "perimeter"

    def verify_file(self, path: str) -> bool:
        """Whether to try: any YAML file, so that one that is no deployment is told why not."""
        return bool(super().verify_file(path)) and path.endswith((".yaml", ".yml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill `inventory`; raises AnsibleParserError with the message of the deployment's own."""
        super().parse(inventory, loader, path, cache)
        try:
            found = inventory_of(Path(path))
        except PerimeterError as error:
            raise AnsibleParserError(f"{type(error).__name__}: {error}") from None
        for name, value in found.variables.items():
            inventory.set_variable("all", name, value)
        for group, hosts in found.groups.items():
            inventory.add_group(group)
            for host in hosts:
                inventory.add_host(host, group=group)
        for host, variables in found.hosts.items():
            for name, value in variables.items():
                inventory.set_variable(host, name, value)
