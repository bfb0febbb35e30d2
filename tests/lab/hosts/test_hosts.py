from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.conftest import skipped_where_unavailable
from tests.lab.errors import LabError
from tests.lab.hosts.ansible import connection_variables, write_inventory
from tests.lab.hosts.base import Base
from tests.lab.hosts.bundle import ensure_bundle
from tests.lab.hosts.lab import Lab
from tests.lab.processes import base_environment

pytestmark = pytest.mark.hosts

# An address outside the lab's own network, as a service of a cloud has.
OUTSIDE = "52.94.133.131"
GET = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read().decode())"


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"from outside")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("hosts") / "lab"
    with skipped_where_unavailable():
        bundle = ensure_bundle(Base(), ["nginx-light", "socat"])
        lab = Lab(2, directory, extra=["edge"], bind_read_only={bundle: "/mnt/bundle"})
        lab.up()
    try:
        yield lab
    finally:
        lab.down()


def test_systemd_is_the_first_process_of_every_host_and_all_its_units_started(lab):
    addresses = {name: str(host.address) for name, host in lab.hosts.items()}
    assert addresses == {"gpu1": "10.77.0.11", "gpu2": "10.77.0.12", "edge": "10.77.0.101"}
    for name, host in lab.hosts.items():
        assert host.run(["cat", "/proc/1/comm", "/etc/hostname"]).stdout == f"systemd\n{name}\n"
        assert host.run(["systemctl", "is-system-running"]).stdout == "running\n"


def test_a_command_that_fails_on_a_host_is_reported_with_its_words(lab):
    with pytest.raises(LabError) as caught:
        lab.hosts["gpu1"].run(["ls", "/no such folder"])
    assert str(caught.value) == (
        "gpu1: `ls '/no such folder'` ended with exit code 2\n"
        "  fix: read what it said:\n"
        "ls: cannot access '/no such folder': No such file or directory"
    )


def test_a_host_reaches_its_neighbours_and_nothing_outside(lab):
    for host in lab.hosts.values():
        probe = "exec 3<>/dev/tcp/{}/22"
        assert host.run(["bash", "-c", probe.format("10.77.0.12")]).returncode == 0
        outside = host.run(["bash", "-c", probe.format("8.8.8.8")], check=False)
        assert "Network is unreachable" in outside.stderr
        assert "default" not in host.run(["ip", "route"]).stdout


def test_what_runs_in_the_network_of_the_lab_has_no_way_out_either(lab):
    routes = subprocess.check_output(lab.command(["ip", "route"]), text=True)
    assert routes == "10.77.0.0/24 dev br0 proto kernel scope link src 10.77.0.1 \n"


def test_only_what_hosts_send_to_a_watched_address_is_counted_there(lab):
    counter = lab.watch(OUTSIDE)
    host = lab.hosts["gpu1"]
    host.run(["true"])
    assert counter.packets() == 0
    server = HTTPServer((OUTSIDE, 80), Service, bind_and_activate=False)
    server.socket.close()
    server.socket = lab.network.listen(OUTSIDE, 80)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        answer = host.run(["python3", "-c", GET, f"http://{OUTSIDE}/"])
        assert answer.stdout == "from outside\n"
        # A connection that is opened, used and closed is at least five packets.
        assert counter.packets() >= 5
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    counted = counter.packets()
    assert (
        "refused" in host.run(["bash", "-c", f"exec 3<>/dev/tcp/{OUTSIDE}/80"], check=False).stderr
    )
    assert counter.packets() == counted + 1
    assert lab.watch(OUTSIDE).packets() == counted + 1


def test_what_one_host_sends_to_another_can_be_counted_too(lab):
    counter = lab.watch("10.77.0.12")
    lab.hosts["edge"].run(["true"])
    assert counter.packets() == 0
    lab.hosts["edge"].run(["bash", "-c", "exec 3<>/dev/tcp/10.77.0.12/22"])
    assert counter.packets() > 0


def test_packages_of_a_bundle_install_on_a_host_without_a_network(lab):
    host = lab.hosts["gpu1"]
    assert host.run(["which", "socat", "nginx"], check=False).stdout == ""
    source = "deb [trusted=yes] file:/mnt/bundle ./\n"
    host.run(["tee", "/etc/apt/sources.list"], stdin=source)
    host.run(["apt-get", "update"])
    install = ["apt-get", "install", "-y", "--no-install-recommends", "socat", "nginx-light"]
    host.run(["env", "DEBIAN_FRONTEND=noninteractive", *install], timeout_seconds=300)
    assert host.run(["which", "socat", "nginx"]).stdout == "/usr/bin/socat\n/usr/sbin/nginx\n"
    assert host.run(["systemctl", "is-active", "nginx"]).stdout == "active\n"


def test_a_bound_path_cannot_be_written_from_a_host(lab):
    refused = lab.hosts["gpu2"].run(["touch", "/mnt/bundle/new"], check=False)
    assert "Read-only file system" in refused.stderr


def test_a_host_that_reboots_comes_back_with_its_files_and_its_services(lab):
    host = lab.hosts["gpu2"]
    unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n"
    unit += "[Install]\nWantedBy=multi-user.target\n"
    host.run(["tee", "/etc/systemd/system/probe.service"], stdin=unit)
    host.run(["systemctl", "enable", "probe"])
    before = host.boot_id()
    host.reboot()
    assert host.boot_id() != before
    assert host.run(["systemctl", "is-active", "probe"]).stdout == "active\n"


def test_up_boots_the_host_that_is_off_and_leaves_the_others_as_they_are(lab):
    hosts = lab.hosts
    before = {name: host.boot_id() for name, host in hosts.items()}
    lab.up()
    assert {name: host.boot_id() for name, host in hosts.items()} == before
    hosts["edge"].run(["touch", "/srv/kept"])
    hosts["edge"].run(["systemctl", "poweroff"], check=False)
    while hosts["edge"].running:
        time.sleep(0.1)
    lab.up()
    after = {name: host.boot_id() for name, host in hosts.items()}
    assert {name for name in hosts if before[name] != after[name]} == {"edge"}
    assert hosts["edge"].run(["ls", "/srv"]).stdout == "kept\n"


def test_a_host_that_shows_the_key_of_another_is_not_trusted(lab, tmp_path):
    mixed = tmp_path / "known_hosts"
    other = lab.access.host_key("gpu2").with_suffix(".pub").read_text()
    mixed.write_text(f"gpu1 {other}")
    configured = ["ssh", "-F", lab.access.configuration]
    refused = subprocess.run(
        [*configured, "-o", f"UserKnownHostsFile={mixed}", "gpu1", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def test_the_variables_for_ansible_connect_from_inside_the_network_and_from_outside(lab, tmp_path):
    inventory = tmp_path / "lab.yml"
    write_inventory(lab, inventory)
    hosts = json.loads(inventory.read_text())["all"]["hosts"]
    assert hosts == {name: connection_variables(lab, name) for name in lab.hosts}
    variables = hosts["gpu1"]
    arguments = f"{variables['ansible_ssh_common_args']} {variables['ansible_ssh_args']}".split()
    shared = f"{variables['ansible_control_path_dir']}/0123456789"
    target = f"{variables['ansible_user']}@{variables['ansible_host']}"
    command = ["ssh", *arguments, "-o", f"ControlPath={shared}", target, "hostname"]
    for here in (command, lab.command(command)):
        with (tmp_path / "out").open("w+") as out:
            subprocess.run(here, env=base_environment(), stdout=out, stderr=out, check=True)
        assert (tmp_path / "out").read_text() == "gpu1\n"
    assert Path(shared).is_socket()
