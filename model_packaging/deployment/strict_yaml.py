"""YAML without its surprises.

Plain YAML 1.1 reads `no` as false, `1_000` as a number, `2026-01-01` as a date and the second of
two equal keys in silence. Here only true/false/null, decimal numbers and text exist, and a key that
occurs twice, an anchor or a merge is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

Location = tuple[str | int, ...]


class YamlRefused(ValueError):
    """The text is not strict YAML. `line` counts from 1."""

    def __init__(self, rule: str, *, fix: str, line: int | None = None) -> None:
        super().__init__(rule)
        self.rule, self.fix, self.line = rule, fix, line


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its value, and the line on which each part of it starts."""

    value: Any
    lines: dict[Location, int]

    def line_of(self, location: Location) -> int | None:
        """The line of `location`, or of the nearest part around it that is in the file."""
        for length in range(len(location), 0, -1):
            if location[:length] in self.lines:
                return self.lines[location[:length]]
        return None


class _Loader(yaml.SafeLoader):
    """SafeLoader with an own, short list of plain scalars."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"true|false", "tf"),
    ("tag:yaml.org,2002:null", r"null|~|", ["n", "~", ""]),
    ("tag:yaml.org,2002:int", r"-?(0|[1-9][0-9]*)", "-0123456789"),
    ("tag:yaml.org,2002:float", r"-?(0|[1-9][0-9]*)\.[0-9]+", "-0123456789"),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), list(_first))


def parse(text: str) -> Document:
    """The single document in `text`. Raises `YamlRefused`."""
    try:
        _refuse_anchors(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        lines: dict[Location, int] = {}
        if node is not None:
            _check(node, (), lines)
        return Document(loader.construct_document(node) if node is not None else None, lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlRefused(
            f"is not YAML: {error.problem or error.context}",
            fix="correct the syntax near that line",
            line=mark.line + 1 if mark else None,
        ) from None
    except yaml.YAMLError as error:
        rule = f"is not YAML: {' '.join(str(error).split())}"
        raise YamlRefused(rule, fix="save the file as UTF-8 text") from None


def _refuse_anchors(text: str) -> None:
    for token in yaml.scan(text, Loader=_Loader):
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken):
            raise YamlRefused(
                f"uses the anchor or alias `{token.value}`",
                fix="write the value out: a reader must see it where it counts",
                line=token.start_mark.line + 1,
            )


def _check(node: yaml.Node, location: Location, lines: dict[Location, int]) -> None:
    lines.setdefault(location, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _check(item, (*location, index), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise YamlRefused("has a key that is not text", fix="quote the key", line=line)
            here = (*location, key.value)
            if here in lines:
                raise YamlRefused(
                    f"says `{'.'.join(map(str, here))}` twice, first on line {lines[here]}",
                    fix="keep one of the two",
                    line=line,
                )
            lines[here] = line
            _check(value, here, lines)
