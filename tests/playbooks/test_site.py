"""site.yml on freshly booted hosts with real vLLM. The tests are steps of one session: each finds
the hosts as the one before left them."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator

import pytest
import yaml

from examples.demo.exchanges import QUESTIONS
from tests.conftest import skipped_where_unavailable
from tests.lab.example import tools_port
from tests.lab.hosts.base import Base
from tests.lab.hosts.bundle import ensure_bundle
from tests.lab.hosts.lab import Lab
from tests.lab.hosts.wheelhouse import ensure_wheelhouse
from tests.playbooks.provisioning import ENGINE_KEY, KEYS, PACKAGES, Site, Tools

pytestmark = [
    pytest.mark.engine,
    pytest.mark.hosts,
    pytest.mark.mlflow,
    pytest.mark.skipif(
        not os.environ.get("PERIMETER_SITE_TESTS"),
        reason="provisioning two hosts takes a quarter of an hour; PERIMETER_SITE_TESTS=1 runs it",
    ),
    # vLLM is installed on each host from its wheels.
    pytest.mark.timeout(1800),
]

# Where a regional endpoint of AWS answers.
AWS = "52.94.133.131"
MODELS = "/var/lib/perimeter/models"


@pytest.fixture(scope="module")
def site(example, tmp_path_factory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    with skipped_where_unavailable():
        lab = Lab(2, tmp_path_factory.mktemp("hosts") / "lab")
        lab.up()
    try:
        found = Site(lab, directory)
        found.write(example, ensure_wheelhouse(), ensure_bundle(Base(), PACKAGES))
        yield found
    finally:
        lab.down()


@pytest.fixture(scope="module")
def tools(site) -> Iterator[Tools]:
    with Tools(site.lab, tools_port(site.content)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def provisioned(site: Site) -> set[str]:
    """Hosts that a run has changed."""
    hosts = site.lab.hosts.items()
    return {name for name, host in hosts if host.run(["ls", "/opt"]).stdout}


def test_a_host_without_its_secrets_is_refused_before_anything_changes(site):
    refused = site.play()
    assert refused.code != 0
    assert refused.total("changed") == 0
    missing = "/etc/perimeter/secrets/engine_key: No such file or directory; put it there, owned"
    assert missing in refused.output
    assert not provisioned(site)
    site.place_secrets()


def test_an_altered_byte_on_the_controller_is_refused_before_anything_changes(site, tmp_path):
    content = site.content
    store = tmp_path / "packages"
    shutil.copytree(content["store"], store)
    weights = next(store.rglob("model.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.unlink()
    weights.write_bytes(data)
    original = site.deployment.read_text()
    site.deployment.write_text(yaml.safe_dump({**content, "store": str(store)}, sort_keys=False))
    try:
        refused = site.play()
    finally:
        site.deployment.write_text(original)
    assert refused.code != 0
    assert refused.total("changed") == 0
    assert "FAILED model/model.safetensors: has SHA-256" in refused.output
    assert not provisioned(site)


def test_a_dry_run_on_fresh_hosts_shows_what_would_change_and_changes_nothing(site):
    dry = site.play("--check", "--diff")
    assert dry.code == 0, dry.output
    assert dry.total("changed") > 0
    assert "policy drop" in dry.output
    assert not provisioned(site)


def test_fresh_hosts_become_serving_hosts_and_a_second_run_changes_nothing(site):
    first = site.play()
    assert first.code == 0, first.output
    second = site.play()
    assert second.code == 0, second.output
    assert second.total("changed") == 0, second.output


def test_a_dry_run_on_provisioned_hosts_finds_nothing_to_change(site):
    dry = site.play("--check", "--diff")
    assert dry.code == 0, dry.output
    assert dry.total("changed") == 0, dry.output


def test_each_host_serves_the_weights_of_the_manifest(site, example):
    for host, model in (("gpu1", "small"), ("gpu2", "large")):
        served = f"{MODELS}/current/{model}"
        check = ["python3", f"{served}/verify.py", f"{served}/model", "--weights-only", "--json"]
        found = json.loads(site.lab.hosts[host].run(check).stdout)
        manifest = json.loads((example.package(model) / "manifest.json").read_text())
        assert found["weights_digest"] == manifest["weights_digest"]
        assert found["weights_digest"] == site.lock[model]["weights_digest"]


def test_a_c4_question_is_answered_over_tls_and_no_packet_goes_to_aws(site, tools):
    counter = site.lab.watch(AWS)
    for host in ("gpu1", "gpu2"):
        status, body = site.ask(host, QUESTIONS[0].text)
        assert status == 200, body
        assert body["perimeter"]["label"] == "C4"
        (call,) = body["perimeter"]["tool_calls"]
        assert call["name"] == "get_exposure"
        assert "248350000" in body["choices"][0]["message"]["content"]
        reached = [one["replica"] for one in body["perimeter"]["attempts"]]
        assert reached == ["gpu1", "gpu2"]
    assert counter.packets() == 0


def test_the_firewall_stops_what_was_not_declared(site):
    counter = site.lab.watch(AWS)
    before = counter.packets()
    probe = f"exec 3<>/dev/tcp/{AWS}/443"
    site.lab.hosts["gpu1"].run(["timeout", "2", "bash", "-c", probe], check=False)
    assert counter.packets() == before


def test_the_front_opens_the_chat_api_and_no_other_path_of_the_engine(site):
    port = site.content["pools"]["gpu_small"]["port"]
    # From where an engine may be called at all: the other host.
    script = (
        "import ssl, sys, urllib.request as u, urllib.error as e\n"
        "c = ssl.create_default_context(cafile='/etc/perimeter/secrets/tls_authority')\n"
        "for path in sys.argv[2:]:\n"
        "    try: print(u.urlopen(sys.argv[1] + path, context=c, timeout=10).status)\n"
        "    except e.HTTPError as error: print(error.code)\n"
    )
    url = f"https://{site.lab.addresses['gpu1']}:{port}"
    paths = ["/health", "/v1/models", "/invocations", "/metrics", "/tokenize", "/version"]
    done = site.lab.hosts["gpu2"].run(["python3", "-c", script, url, *paths])
    assert done.stdout.split() == ["200", "401", "404", "404", "404", "404"]


def test_the_gateway_cannot_import_a_client_of_aws(site):
    show = ["systemctl", "show", "perimeter-gateway", "--property=ExecStart", "--value"]
    for host in site.lab.hosts.values():
        python = host.run(show).stdout.split("path=")[1].split()[0]
        for name in ("boto3", "botocore"):
            done = host.run([python, "-c", f"import {name}"], check=False)
            assert f"No module named '{name}'" in done.stderr


def test_no_key_is_in_a_process_list_a_unit_a_journal_or_a_readable_file(site):
    for host in site.lab.hosts.values():
        seen = host.run(["ps", "axww", "-o", "args"]).stdout
        seen += host.run(["systemctl", "cat", "perimeter-*", "haproxy"]).stdout
        seen += host.run(["journalctl", "--no-pager", "--output=cat"]).stdout
        assert "lambdas.gateway" in seen
        for key in (ENGINE_KEY, *KEYS.values()):
            assert key not in seen
            find = ["grep", "-rlsF", key, "/etc", "/opt/perimeter/bin", "/var/log", "/run/systemd"]
            files = host.run(find, check=False).stdout.split()
            assert [f for f in files if not f.startswith("/etc/perimeter/secrets/")] == []
        assert QUESTIONS[0].text not in seen


def test_an_altered_byte_on_a_host_is_refused_before_anything_changes(site):
    host = site.lab.hosts["gpu2"]
    weights = f"{MODELS}/current/large/model/model.safetensors"
    flip = (
        "import sys; f = open(sys.argv[1], 'r+b'); f.seek(-1, 2); b = f.read(1)[0];"
        "f.seek(-1, 2); f.write(bytes([b ^ 1]))"
    )
    host.run(["python3", "-c", flip, weights])
    refused = site.play()
    assert refused.code != 0
    assert refused.total("changed") == 0
    assert "FAILED model/model.safetensors: has SHA-256" in refused.output
    host.run(["python3", "-c", flip, weights])
