"""Parse argument lists with the real vLLM. Run by the Python of the engine's environment alone.

Standard input is JSON: {"serve": {name: file}, "container": {name: [arguments]}}. Standard output
is JSON: for each of both, name -> every parsed argument; and "flags": every flag there is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from vllm.entrypoints.cli.serve import cmd_init
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser


def command_line() -> Any:
    """The parser of the command `vllm`, put together as its `main` does."""
    parser = FlexibleArgumentParser(prog="vllm")
    subparsers = parser.add_subparsers(required=False, dest="subparser")
    for command in cmd_init():
        command.subparser_init(subparsers)
    return parser


def plain(namespace: Any) -> dict[str, Any]:
    """A namespace as JSON values; anything else is compared by its text."""
    ignored = {"subparser", "dispatch_function", "model_tag", "config"}
    values = {key: value for key, value in vars(namespace).items() if key not in ignored}
    found: dict[str, Any] = json.loads(json.dumps(values, default=repr, sort_keys=True))
    return found


def main() -> None:
    """Answer one question."""
    asked = json.load(sys.stdin)
    server = make_arg_parser(FlexibleArgumentParser())
    answer = {
        "serve": {
            name: plain(command_line().parse_args(["serve", "--config", file]))
            for name, file in asked["serve"].items()
        },
        "container": {
            name: plain(server.parse_args(arguments))
            for name, arguments in asked["container"].items()
        },
        "flags": sorted(server._option_string_actions),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
