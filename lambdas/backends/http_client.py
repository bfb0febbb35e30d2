"""The HTTP client of the request path: no proxy, no redirect, no retry.

A proxy taken from the environment or a redirect could carry a request out of the perimeter, and
retries belong to the state machine alone.
"""

import ssl
from collections.abc import Iterable
from pathlib import Path

import httpx2

# Engines and tools close idle connections after 5 s by default; a connection is given up before
# they do.
KEEP_ALIVE_SECONDS = 4.0


def http_client(
    urls: Iterable[str], *, ca_file: Path | None = None, max_connections: int = 512
) -> httpx2.AsyncClient:
    """A client for these addresses.

    Certificates are always verified, against the system's authorities; these are only loaded when
    an address needs them.
    """
    if any(url.startswith("https://") for url in urls):
        verify = ssl.create_default_context(cafile=ca_file)
    else:
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(
        verify=verify,
        trust_env=False,
        follow_redirects=False,
        # Waiting is limited by the budgets of the plan, per call.
        timeout=httpx2.Timeout(None),
        limits=httpx2.Limits(
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        ),
        headers={"accept-encoding": "identity", "user-agent": "perimeter"},
    )
