"""`python -m lambdas.gateway`: serve until SIGTERM, then finish what is under way."""

import logging
import os
import signal
import sys

import uvicorn

from lambdas.assistant.errors import PlanInvalid
from lambdas.gateway.app import build_app
from lambdas.gateway.settings import Settings, SettingsInvalid

EXIT_INVALID = 3


def main() -> int:
    """Run the gateway. Returns the exit status: 3 when a setting, a file or the plan is wrong."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # The client logs a line with the address of every call.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        settings = Settings.read(os.environ)
        app = build_app(settings)
    except (SettingsInvalid, PlanInvalid) as error:
        print(error, file=sys.stderr)
        return EXIT_INVALID
    # The server finishes what is under way and then raises the signal again, to these handlers.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=app.longest_seconds,
    )
    uvicorn.Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
