"""The chat template, rendered as the engines render it.

A template is a program that came with the model. It runs here, and later in the engine, in Jinja's
immutable sandbox; here it also has a time limit, and may not read the clock: two prompts of two
days would differ from their first line on, and no prefix could be reused or compared.
"""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from model_packaging.errors import PackageRefused

WHERE = "chat_template.jinja"
TIME_LIMIT_SECONDS = 10.0
Message = Mapping[str, Any]


class ChatTemplate:
    """A compiled template with the special tokens it may name; `sha256` is of its UTF-8 bytes.

    Raises PackageRefused when it does not compile; `render` raises it for everything else.
    """

    def __init__(self, source: str, *, special_tokens: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _read_clock
        self._special_tokens = dict(special_tokens)
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise _refused(f"is not a template that compiles ({error})") from error

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        enable_thinking: bool | None = None,
    ) -> str:
        """The prompt, up to where the model speaks next; None leaves `enable_thinking` unset."""
        settings = {} if enable_thinking is None else {"enable_thinking": enable_thinking}
        try:
            with _time_limit():
                return self._template.render(
                    **self._special_tokens,
                    messages=messages,
                    tools=list(tools) or None,
                    documents=None,
                    add_generation_prompt=True,
                    **settings,
                )
        except PackageRefused:
            raise
        except Exception as error:  # a template can fail in every way that Python can
            raise _refused(f"fails on an ordinary conversation ({error})") from error


class _Generation(Extension):
    """`{% generation %}` marks the model's own words for training; it renders to its body."""

    tags = {"generation"}  # noqa: RUF012  (jinja2 declares it as a class attribute)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's own filter escapes for HTML, which no model was trained on.
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: str) -> str:
    raise jinja2.TemplateError(message)


def _read_clock(_format: str) -> str:
    raise PackageRefused(
        where=WHERE,
        rule="reads the clock, so no prompt is equal on two days",
        fix="take the date out of the template and send it in the last message",
    )


def _refused(rule: str) -> PackageRefused:
    fix = "correct the tokenizer's chat template and log the model again"
    return PackageRefused(where=WHERE, rule=rule, fix=fix)


@contextmanager
def _time_limit() -> Iterator[None]:
    # A signal reaches the main thread only; elsewhere the sandbox's own limits have to do.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _refused(f"takes longer than {TIME_LIMIT_SECONDS:g} s for one prompt")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
