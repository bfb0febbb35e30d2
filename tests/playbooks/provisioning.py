"""A lab, a deployment whose hosts are the lab's, and Ansible to provision them with."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from examples.analyst_tools.book import Book
from examples.analyst_tools.server import ToolHandler
from examples.demo.pipeline import ROOT
from tests.lab.example import BuiltExample, tools_port
from tests.lab.hosts.ansible import connection_variables
from tests.lab.hosts.commands import run
from tests.lab.hosts.lab import Lab
from tests.lab.hosts.network import CONTROLLER
from tests.lab.processes import base_environment

SECRETS = "/etc/perimeter/secrets"
KEYS = {"analysts": "key-of-the-analysts", "markets": "key-of-the-markets-desk"}
ENGINE_KEY = "key-of-the-engines"
PACKAGES = ("haproxy", "libnuma1", "nftables", "python3-venv")
# What a CPU needs; a GPU host has no such variables.
CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_HOST_IP": "127.0.0.1",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Recap:
    """How a run of a playbook ended: its exit code, its output, and the counts of each host."""

    code: int
    output: str
    counts: Mapping[str, Mapping[str, int]] = field(repr=False)

    def total(self, count: str) -> int:
        """A count such as `changed` over all hosts."""
        return sum(counts[count] for counts in self.counts.values())


class Tools(ThreadingHTTPServer):
    """The book's tools on the controller's address in the lab, as a service of the company."""

    daemon_threads = True

    def __init__(self, lab: Lab, port: int) -> None:
        address = (str(CONTROLLER), port)
        super().__init__(address, ToolHandler, bind_and_activate=False)
        self.book = Book()
        self.socket.close()
        self.socket = lab.network.listen(*address)


@dataclass(frozen=True)
class Site:
    """The deployment of an example on the hosts of a lab."""

    lab: Lab
    directory: Path

    @property
    def deployment(self) -> Path:
        """The deployment file."""
        return self.directory / "demo.yaml"

    @property
    def content(self) -> dict[str, Any]:
        """The deployment file as plain data."""
        loaded: dict[str, Any] = yaml.safe_load(self.deployment.read_text(encoding="utf-8"))
        return loaded

    @property
    def lock(self) -> dict[str, Any]:
        """The locked models by key."""
        text = self.deployment.with_name("demo.lock.json").read_text(encoding="utf-8")
        models: dict[str, Any] = json.loads(text)["models"]
        return models

    def write(self, example: BuiltExample, wheelhouse: Path, bundle: Path) -> None:
        """Write the deployment: each host runs one of the two engines, or one host both."""
        content = example.content
        hosts = sorted(name for name in self.lab.addresses if name.startswith("gpu"))
        on_prem = content["on_prem"]
        on_prem["hosts"] = {name: {"address": str(self.lab.addresses[name])} for name in hosts}
        on_prem["keys"] = {"engine_key": f"file:{SECRETS}/engine_key"}
        on_prem["tls"] = {
            name: f"file:{SECRETS}/tls_{name}" for name in ("certificate", "key", "authority")
        }
        on_prem["wheelhouse"] = str(wheelhouse)
        content["pools"]["gpu_small"]["hosts"] = [hosts[0]]
        content["pools"]["gpu_large"]["hosts"] = [hosts[-1]]
        for tenant in KEYS:
            content["tenants"][tenant]["on_prem"]["client_key"] = f"file:{SECRETS}/clients/{tenant}"
        text = json.dumps(content)
        port = tools_port(content)
        text = text.replace(f"http://127.0.0.1:{port}/", f"http://{CONTROLLER}:{port}/")
        self.deployment.write_text(yaml.safe_dump(json.loads(text), sort_keys=False))
        lock = example.deployment.with_name("demo.lock.json")
        self.deployment.with_name(lock.name).write_bytes(lock.read_bytes())
        variables = self.directory / "host_vars"
        variables.mkdir()
        for host in hosts:
            (variables / f"{host}.json").write_text(
                json.dumps(connection_variables(self.lab, host))
            )
        archive = self.directory / "bundle.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(bundle, arcname=".")
        extra = {"host_bundle": str(archive), "vllm_environment": CPU}
        (self.directory / "extra.json").write_text(json.dumps(extra))

    def place_secrets(self) -> None:
        """Put keys and certificates on every host, as their owners do before provisioning."""
        authority, authority_key = (
            self.directory / "authority.pem",
            self.directory / "authority.key",
        )
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"]
        make = ["openssl", "req", "-x509", *new_key, str(authority_key), "-out", str(authority)]
        run([*make, "-days", "2", "-subj", "/CN=authority of the lab"], where="authority")
        for name, host in self.lab.hosts.items():
            key, request = self.directory / f"{name}.key", self.directory / f"{name}.csr"
            certificate, names = self.directory / f"{name}.pem", self.directory / f"{name}.ext"
            names.write_text(f"subjectAltName=IP:{host.address}\n")
            ask = ["openssl", "req", *new_key, str(key), "-out", str(request)]
            ask += ["-subj", f"/CN={name}"]
            run(ask, where=name)
            sign = ["openssl", "x509", "-req", "-in", str(request), "-CA", str(authority)]
            sign += ["-days", "2", "-CAkey", str(authority_key), "-CAcreateserial"]
            run([*sign, "-extfile", str(names), "-out", str(certificate)], where=name)
            host.run(["install", "-d", "-m", "0700", f"{SECRETS}/clients"])
            secrets = {f"clients/{tenant}": value for tenant, value in KEYS.items()}
            secrets |= {"engine_key": ENGINE_KEY, "tls_key": key.read_text()}
            secrets |= {"tls_certificate": certificate.read_text()}
            secrets |= {"tls_authority": authority.read_text()}
            for path, value in secrets.items():
                write = ["install", "-m", "0400", "/dev/stdin", f"{SECRETS}/{path}"]
                host.run(write, stdin=value)

    def play(self, *options: str, playbook: str = "site.yml") -> Recap:
        """Run a playbook as its user does, from the root of the repository."""
        program = Path(sys.executable).with_name("ansible-playbook")
        play = ROOT / "ansible" / "playbooks" / playbook
        command = [str(program), "-i", str(self.deployment), str(play)]
        done = subprocess.run(
            [*command, "-e", f"@{self.directory / 'extra.json'}", *options],
            cwd=ROOT,
            env=base_environment() | {"ANSIBLE_NOCOLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        counts = {}
        for host, line in re.findall(r"^(\w+) +: (ok=.*)$", done.stdout, re.MULTILINE):
            counts[host] = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
        return Recap(done.returncode, done.stdout, counts)

    def request(
        self, host: str, path: str, body: object = None, *, key: str = "", port: int = 443
    ) -> tuple[int, Any]:
        """A request to a host's front, over TLS that is checked against the authority."""
        address = str(self.lab.addresses[host])
        context = ssl.create_default_context(cafile=str(self.directory / "authority.pem"))
        connection = http.client.HTTPSConnection(address, context=context)
        plain = self.lab.network.connect(address, port, timeout_seconds=60)
        connection.sock = context.wrap_socket(plain, server_hostname=address)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()

    def ask(self, host: str, question: str, *, tenant: str = "analysts") -> tuple[int, Any]:
        """One question to the gateway of a host, with the breakdown."""
        body = {
            "model": "demo",
            "messages": [{"role": "user", "content": question}],
            "metadata": {"perimeter.trace": "steps"},
        }
        return self.request(host, "/v1/chat/completions", body, key=KEYS[tenant])
