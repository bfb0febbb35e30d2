"""A real vLLM, its CPU build, started with the arguments rendered for the on-prem place."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.lab.environments import cache_root, ensure
from tests.lab.parts import Part
from tests.lab.ports import LOOPBACK
from tests.lab.processes import ManagedProcess, base_environment

# What a CPU needs on top of the rendered arguments. Compiling the model would cost a C++ compiler
# and half a minute.
CPU_ARGUMENTS = ("--enforce-eager",)
# Memory of the key-value cache; without it the CPU build takes nearly all that the machine has.
KV_CACHE_GIB = 1
WARM_UP_SECONDS = 120.0
# Every kind of work that a first request would pay for: template, tool parser, grammar.
WARM_UP_TOOL = {
    "type": "function",
    "function": {"name": "nothing", "strict": True, "parameters": {"type": "object"}},
}


class Engine(Part):
    """`vllm serve <model_directory> --config <serve_yaml> --port <port>` on the loopback.

    The key comes as `api_key` or in `api_key_file`, or not at all; it reaches the engine by its
    environment, never by the command line, where every user of the machine could read it. Ready
    means warm, as on a host, where a canary call comes before the first caller.
    """

    ready_within_seconds = 300.0

    def __init__(
        self,
        *,
        serve_yaml: Path,
        model_directory: Path,
        log: Path,
        port: int | None = None,
        api_key: str | None = None,
        api_key_file: Path | None = None,
        outlives_parent: bool = False,
    ) -> None:
        if api_key is not None and api_key_file is not None:
            raise ValueError("give api_key or api_key_file, not both")
        super().__init__(port=port, outlives_parent=outlives_parent)
        self.serve_yaml = serve_yaml
        self.model_directory = model_directory
        self.log = log
        self.api_key = api_key_file.read_text().strip() if api_key_file else api_key
        self._temporary: Path | None = None

    def argv(self, python: Path) -> list[str]:
        """The command line; what stands on it wins over the configuration file."""
        command = [str(python.with_name("vllm")), "serve", str(self.model_directory)]
        command += ["--config", str(self.serve_yaml), "--host", LOOPBACK, "--port", str(self.port)]
        return [*command, *CPU_ARGUMENTS]

    def environment(self, python: Path) -> dict[str, str]:
        """All that it is told beside its arguments: no network, no statistics, one thread."""
        cache = cache_root() / "vllm"
        # Compiled kernels are loaded from it as code, so nobody else may write there.
        cache.mkdir(mode=0o700, exist_ok=True)
        base = base_environment()
        variables = base | {
            # Some kernels look for tools of their own environment, such as ninja.
            "PATH": f"{python.parent}:{base.get('PATH', '')}",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "HF_HOME": str(cache / "huggingface"),
            "VLLM_CACHE_ROOT": str(cache),
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_HOST_IP": LOOPBACK,
            "VLLM_CPU_KVCACHE_SPACE": str(KV_CACHE_GIB),
            # A model this small is slower on several threads: they wait for each other in a loop.
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "1",
        }
        return variables if self.api_key is None else variables | {"VLLM_API_KEY": self.api_key}

    def wait_ready(self) -> None:
        """Return once /health answers and one request has been served; see `Part.wait_ready`."""
        warm = self.ready_seconds is not None
        super().wait_ready()
        if warm:
            return
        (model,) = self._call("GET", "/v1/models")["data"][:1]
        body = {"model": model["id"], "messages": [{"role": "user", "content": "?"}]}
        # An engine without a tool parser refuses the first form; the second then warms the rest.
        for extra in ({"tools": [WARM_UP_TOOL]}, {}):
            answer = self._call("POST", "/v1/chat/completions", {**body, **extra, "max_tokens": 2})
            if "choices" in answer:
                return

    def stop(self) -> None:
        """End the engine and its workers, and remove the sockets it leaves behind."""
        super().stop()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _launch(self) -> ManagedProcess:
        python = ensure("engine")
        # Short, because the path of a Unix socket may have 107 bytes at most.
        self._temporary = Path(tempfile.mkdtemp(prefix="engine-"))
        return ManagedProcess(
            self.argv(python),
            env=self.environment(python) | {"TMPDIR": str(self._temporary)},
            log_path=self.log,
            name=f"vLLM engine of {self.model_directory.name}",
            outlives_parent=self._outlives_parent,
        )

    def _call(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=WARM_UP_SECONDS)
        headers = {"Content-Type": "application/json"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


class Engines:
    """Engines shared by a whole test run: one configuration over one model is started once.

    A start costs about 25 s of CPU time, so a test asks here, and never stops what it was given.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: dict[tuple[bytes, Path, str | None], Engine] = {}

    def start(
        self,
        *,
        serve_yaml: Path,
        model_directory: Path,
        api_key: str | None = None,
        port: int | None = None,
    ) -> Engine:
        """The engine for these inputs, perhaps still loading: call `wait_ready` before use."""
        key = (serve_yaml.read_bytes(), model_directory.resolve(), api_key)
        if key not in self._running:
            engine = Engine(
                serve_yaml=serve_yaml,
                model_directory=model_directory,
                api_key=api_key,
                port=port,
                log=self.directory / f"engine-{len(self._running)}.log",
            )
            engine.start()
            self._running[key] = engine
        return self._running[key]

    def stop(self) -> None:
        """End them all."""
        for engine in self._running.values():
            engine.stop()
        self._running.clear()
