"""``python -m examples.analyst_tools --port 18110``: serve the book on loopback until
interrupted."""

from __future__ import annotations

import argparse

from examples.analyst_tools.server import ToolServer


def main() -> None:
    """Parse the port and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    with ToolServer(("127.0.0.1", parser.parse_args().port)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
