"""What Ansible is told of a deployment, and what it refuses to run with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from model_packaging.deployment.lock import DeploymentLock, LockedModel, lock_path_for, write_lock
from model_packaging.errors import DeploymentInvalid, LockStale
from model_packaging.hosts.inventory import inventory_of
from tests.packaging.deployment.builders import example_text

PACKAGE, WEIGHTS = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32


def locked(source: str) -> LockedModel:
    return LockedModel(
        source_requested=source,
        registered_model="analyst",
        version="3",
        model_id=None,
        run_id=None,
        package_name="analyst",
        package_version="3",
        package_digest=PACKAGE,
        model_digest=WEIGHTS,
        weights_digest=WEIGHTS,
    )


@pytest.fixture
def analyst(tmp_path: Path) -> Path:
    """The full example with a lock, its small engine on one host only."""
    content = yaml.safe_load(example_text("analyst"))
    content["pools"]["gpu_small"]["hosts"] = ["gpu_b"]
    return written(tmp_path, content)


def written(folder: Path, content: dict) -> Path:
    path = folder / "analyst.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    models = {key: locked(model["source"]) for key, model in content["models"].items()}
    lock = DeploymentLock(schema="perimeter.lock/1", deployment=content["name"], models=models)
    write_lock(lock_path_for(path), lock)
    return path


def test_hosts_run_the_engines_of_their_pools(analyst):
    found = inventory_of(analyst)
    engines = {name: host["perimeter_engines"] for name, host in found.hosts.items()}
    assert {name: [one["model"] for one in held] for name, held in engines.items()} == {
        "gpu_a": ["large"],
        "gpu_b": ["large", "small"],
    }
    assert engines["gpu_a"] == [
        {
            "model": "large",
            "port": 18102,
            "served_name": "analyst-large",
            "engine_version": "0.30.0",
            "shutdown_timeout_seconds": 120,
        }
    ]
    assert found.hosts["gpu_a"]["ansible_host"] == "gpu-a.bank.example"
    assert "ansible_connection" not in found.hosts["gpu_a"]
    assert found.groups == {
        "gateway_hosts": ("gpu_a", "gpu_b"),
        "engine_hosts": ("gpu_a", "gpu_b"),
    }


def test_a_host_without_a_pool_is_a_gateway_only(tmp_path):
    content = yaml.safe_load(example_text("analyst"))
    for pool in ("gpu_small", "gpu_large"):
        content["pools"][pool]["hosts"] = ["gpu_b"]
    assert inventory_of(written(tmp_path, content)).groups["engine_hosts"] == ("gpu_b",)


def test_digests_come_from_the_lock_and_paths_are_absolute(analyst, monkeypatch):
    monkeypatch.chdir(analyst.parent)
    found = inventory_of(Path(analyst.name)).variables
    assert found["perimeter_packages"]["small"] == {
        "directory": str(analyst.parent / ".perimeter/packages/analyst/3"),
        "package_digest": PACKAGE,
        "weights_digest": WEIGHTS,
    }
    assert found["perimeter_deployment_file"] == str(analyst)


def test_a_secret_is_a_file_on_the_host_and_never_a_value(analyst):
    found = inventory_of(analyst).variables
    assert found["perimeter_secrets"] == {
        "engine_key": "/etc/perimeter/secrets/engine_key",
        "tls_certificate": "/etc/perimeter/tls/host.pem",
        "tls_key": "/etc/perimeter/secrets/tls_key",
        "tls_authority": "/etc/perimeter/tls/authority.pem",
    }
    # Tenants of AWS alone have no key here.
    assert found["perimeter_clients"] == {
        tenant: f"/etc/perimeter/secrets/clients/{tenant}"
        for tenant in ("credit_risk", "markets", "treasury")
    }


def test_the_firewall_is_told_of_every_tool_that_hosts_call(analyst):
    assert inventory_of(analyst).variables["perimeter_outbound"] == [
        {"address": f"{name}.bank.example", "port": 443}
        for name in ("market-data", "memos", "positions", "risk")
    ]


def test_without_a_lock_there_is_no_inventory(analyst):
    lock_path_for(analyst).unlink()
    with pytest.raises(LockStale, match="there is no lock file: nothing was built yet"):
        inventory_of(analyst)


def test_without_hosts_there_is_no_inventory(tmp_path):
    content = yaml.safe_load(example_text("analyst"))
    del content["on_prem"]
    for pool in ("gpu_small", "gpu_large"):
        del content["pools"][pool]
    content["tiers"] = {
        name: [pool for pool in pools if not pool.startswith("gpu")]
        for name, pools in content["tiers"].items()
    }
    content["intents"] = {"market": content["intents"]["market"]}
    used = content["intents"]["market"]["tools"]
    content["tools"] = {name: content["tools"][name] for name in used}
    content["default_intent"] = "market"
    content["tenants"] = {"communications": content["tenants"]["communications"]}
    with pytest.raises(DeploymentInvalid) as caught:
        inventory_of(written(tmp_path, content))
    assert str(caught.value).endswith(
        "on_prem: is not there, so this deployment has no hosts to provision\n"
        "  fix: add `on_prem` with its hosts, or name another deployment"
    )


def ansible_inventory(repository: Path, deployment: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("ansible-inventory")
    command = [str(program), "-i", str(deployment), "--list"]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def test_ansible_reads_a_deployment_file_as_its_inventory(repository, analyst):
    done = ansible_inventory(repository, analyst)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["gateway_hosts"]["hosts"] == ["gpu_a", "gpu_b"]
    engines = listed["_meta"]["hostvars"]["gpu_b"]["perimeter_engines"]
    assert [one["port"] for one in engines] == [18102, 18101]


def test_ansible_says_what_is_wrong_and_does_not_run_with_no_hosts(repository, analyst):
    lock_path_for(analyst).unlink()
    done = ansible_inventory(repository, analyst)
    assert done.returncode != 0
    assert "LockStale" in done.stderr
    assert "there is no lock file: nothing was built yet" in " ".join(done.stderr.split())
    analyst.write_text("schema: something/1\n", encoding="utf-8")
    done = ansible_inventory(repository, analyst)
    assert done.returncode != 0
    assert "DeploymentInvalid" in done.stderr
