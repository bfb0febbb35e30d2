"""Chat templates: rendered as transformers renders them, in a sandbox, within a time limit."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package import chat
from model_packaging.package.chat import ChatTemplate
from model_packaging.package.golden import Golden
from tests.packaging.tiny_model import TEMPLATE

ASK = {"role": "user", "content": 'Prix d\'été < 3 & "ça" ?'}


def render(source: str, *, enable_thinking: bool | None = None) -> str:
    template = ChatTemplate(source, special_tokens={"eos_token": "<end>"})
    return template.render([ASK], enable_thinking=enable_thinking)


def refusal(source: str) -> str:
    with pytest.raises(PackageRefused) as caught:
        render(source)
    assert caught.value.where == "chat_template.jinja"
    return caught.value.rule


def test_special_tokens_have_their_names():
    assert render("{{ messages[0].role }}{{ eos_token }}") == "user<end>"


def test_json_is_not_escaped_for_html():
    assert render("{{ messages[0].content | tojson }}") == json.dumps(
        ASK["content"], ensure_ascii=False
    )


def test_thinking_is_undefined_unless_it_is_given():
    source = "{{ enable_thinking is defined }} {{ enable_thinking }}"
    assert render(source) == "False "
    assert render(source, enable_thinking=False) == "True False"


def test_no_tools_are_none_and_not_an_empty_list():
    assert render("{{ tools is none }}") == "True"


def test_lines_of_statements_leave_no_blank_lines():
    assert render("{% if true %}\n  {# note #}\nx\n{% endif %}\n") == "x\n"


def test_generation_blocks_and_loop_controls_are_understood():
    source = (
        "{% for n in range(9) %}{% if n == 2 %}{% break %}{% endif %}"
        "{% generation %}{{ n }}{% endgeneration %}{% endfor %}"
    )
    assert render(source) == "01"


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("{{ x", "is not a template that compiles"),
        ("{{ raise_exception('no tools here') }}", "fails on an ordinary conversation (no tools"),
        ("{{ messages[0].content.nothing.more }}", "fails on an ordinary conversation"),
        ("{{ ''.__class__.__mro__ }}", "fails on an ordinary conversation (access to attribute"),
        ("{% set _ = messages.append(1) %}", "fails on an ordinary conversation"),
        ("{% include '/etc/hostname' %}", "fails on an ordinary conversation"),
        ("{{ range(10 ** 9) | list }}", "fails on an ordinary conversation (Range too big"),
        ("{{ strftime_now('%d') }}", "reads the clock, so no prompt is equal on two days"),
    ],
)
def test_a_template_that_cannot_be_served_is_refused(source, rule):
    assert refusal(source).startswith(rule)


def test_a_template_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(chat, "TIME_LIMIT_SECONDS", 0.2)
    loops = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
    assert refusal(loops) == "takes longer than 0.2 s for one prompt"


def test_rendering_outside_the_main_thread_works_too():
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(render("{{ messages[0].role }}")))
    thread.start()
    thread.join()
    assert found == ["user"]


CHECK = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
found = []
for row in json.load(open(sys.argv[2]))["renders"]:
    given = {} if row["enable_thinking"] is None else {"enable_thinking": row["enable_thinking"]}
    found.append(tokenizer.apply_chat_template(
        row["messages"], tools=row["tools"] or None, tokenize=False,
        add_generation_prompt=True, **given,
    ))
ids = tokenizer("EUR/USD 2024 \u00e9t\u00e9 and EUR", add_special_tokens=False)["input_ids"]
print(json.dumps({"texts": found, "ids": ids}))
"""


def test_transformers_renders_the_golden_prompts_of_a_package(package, training_python: Path):
    command = [str(training_python), "-c", CHECK, str(package / "model")]
    ran = subprocess.run(
        [*command, str(package / "golden.json")], capture_output=True, text=True, check=True
    )
    found = json.loads(ran.stdout)
    golden = Golden.model_validate_json((package / "golden.json").read_bytes())
    assert len(golden.renders) == 12
    assert found["texts"] == [render.text for render in golden.renders]
    # With Qwen's split rule the space before the capital would be merged into one token.
    letters = json.loads((package / "model" / "tokenizer.json").read_text())["model"]["vocab"]
    assert letters["\u0120E"] not in found["ids"]


def test_the_tiny_template_is_a_template_with_tools_and_thinking():
    assert "<think>" in render(TEMPLATE, enable_thinking=False)
    assert "<think>" not in render(TEMPLATE)
