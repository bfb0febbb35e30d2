import hashlib

import pytest

from lambdas.assistant.errors import NotAuthenticated
from lambdas.gateway.clients import Clients
from lambdas.gateway.settings import SettingsInvalid

TENANTS = ("analysts", "risk")


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def clients(tmp_path, text):
    path = tmp_path / "clients"
    path.write_text(text)
    return Clients.read(path, tenants=TENANTS)


def bearer(key, scheme="Bearer"):
    return {b"authorization": f"{scheme} {key}".encode()}


def test_a_key_names_its_tenant_and_a_tenant_may_have_two_while_one_is_replaced(tmp_path):
    old, new = digest("old"), digest("new").upper()
    lines = ["# keys", "", f"analysts {old}", f"analysts {new}", f"risk {digest('r')}"]
    known = clients(tmp_path, "\n".join(lines))
    assert known.identify(bearer("old")) == "analysts"
    assert known.identify(bearer("new", "bearer")) == "analysts"
    assert known.identify(bearer("r")) == "risk"


@pytest.mark.parametrize("headers", [{}, {b"authorization": b"Basic abc"}, {b"authorization": b""}])
def test_a_caller_without_a_key_is_told_how_to_send_one(tmp_path, headers):
    known = clients(tmp_path, f"risk {digest('r')}")
    with pytest.raises(NotAuthenticated) as refused:
        known.identify(headers)
    assert refused.value.message == "send the client key as `Authorization: Bearer <key>`"


@pytest.mark.parametrize("key", ["x", "", digest("r")])
def test_an_unknown_key_is_refused_and_so_is_the_digest_itself(tmp_path, key):
    known = clients(tmp_path, f"risk {digest('r')}")
    with pytest.raises(NotAuthenticated, match="the client key is not known here"):
        known.identify(bearer(key))


@pytest.mark.parametrize(
    ("text", "where", "rule"),
    [
        ("risk", ":1", "is not `<tenant> <sha256 in hex>`"),
        ("# ok\nrisk a-key-in-clear", ":2", "is not `<tenant> <sha256 in hex>`"),
        (f"traders {digest('t')}", ":1", "the tenant 'traders' is not in the plan"),
        (f"risk {digest('r')}\nanalysts {digest('r')}", ":2", "the key is already given above"),
        ("# nobody\n", ")", "names no client"),
    ],
)
def test_a_file_that_cannot_be_meant_so_is_refused_by_line(tmp_path, text, where, rule):
    with pytest.raises(SettingsInvalid) as invalid:
        clients(tmp_path, text)
    place, message = str(invalid.value).split(": ", 1)
    assert place.endswith(f"clients{where}")
    assert message.startswith(f"{rule}\n  fix: ")
    assert "a-key-in-clear" not in str(invalid.value)
