"""docs/chat-api.md names what the code has: every error code, variable and parameter."""

import re
from pathlib import Path

import pytest

from lambdas.assistant.admission import METADATA, TAKEN
from lambdas.assistant.tools import ToolFailure

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "chat-api.md").read_text()
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "lambdas").rglob("*.py")))

CODES = set(re.findall(r'code="([a-z_]+)"', SOURCE)) | {failure.value for failure in ToolFailure}
CODES |= {"engines_unavailable", "invalid_value"}
VARIABLES = set(re.findall(r"PERIMETER_[A-Z_]+", SOURCE))


@pytest.mark.parametrize("name", sorted(CODES | VARIABLES | set(METADATA)))
def test_the_page_names(name):
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", TAKEN)
def test_the_page_names_the_parameter(name):
    assert re.search(rf"`{name}[`.:]", PAGE)


def test_the_page_names_no_code_that_the_source_does_not_have():
    [table] = re.findall(r"## Errors\n(.*?)\n## ", PAGE, re.DOTALL)
    rows = [row for row in table.splitlines() if re.match(r"\| \d", row)]
    named = {code for row in rows for code in re.findall(r"`([a-z_]+)`", row.split("|")[2])}
    assert named == CODES
