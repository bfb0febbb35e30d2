"""Who calls: client keys, known by their SHA-256 alone."""

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from lambdas.assistant.errors import NotAuthenticated
from lambdas.gateway.settings import SettingsInvalid, read_text

VARIABLE = "PERIMETER_CLIENTS_FILE"
FIX = "write one `<tenant> <sha256 of the key in hex>` a line; `printf %s KEY | sha256sum` gives it"
SCHEME = b"bearer "


@dataclass(frozen=True, slots=True)
class Clients:
    """The known keys. A tenant may have several, so that a key can be replaced without a gap."""

    digests: tuple[tuple[bytes, str], ...]

    @classmethod
    def read(cls, path: Path, *, tenants: Collection[str]) -> "Clients":
        """The keys in a clients file; `#` starts a comment line.

        Raises `SettingsInvalid` for a line of another form, a tenant that is not in the plan, a key
        given twice, or no key at all.
        """
        found: dict[bytes, str] = {}
        lines = read_text(path, variable=VARIABLE, fix=FIX).splitlines()
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            where = f"{path}:{number}"
            parts = line.split()
            if len(parts) != 2 or not re.fullmatch("[0-9a-fA-F]{64}", parts[1]):
                raise SettingsInvalid(
                    where=where, rule="is not `<tenant> <sha256 in hex>`", fix=FIX
                )
            tenant, digest = parts[0], bytes.fromhex(parts[1])
            if tenant not in tenants:
                raise SettingsInvalid(
                    where=where,
                    rule=f"the tenant {tenant!r} is not in the plan",
                    fix=f"name one of {', '.join(sorted(tenants))}, or render the deployment again",
                )
            if digest in found:
                raise SettingsInvalid(
                    where=where, rule="the key is already given above", fix="give each key once"
                )
            found[digest] = tenant
        if not found:
            raise SettingsInvalid(where=f"{VARIABLE} ({path})", rule="names no client", fix=FIX)
        return cls(digests=tuple(found.items()))

    def identify(self, headers: Mapping[bytes, bytes]) -> str:
        """The tenant whose key the `Authorization` header carries.

        The time it takes depends on no digit of any key. Raises `NotAuthenticated`.
        """
        value = headers.get(b"authorization", b"")
        if value[: len(SCHEME)].lower() != SCHEME:
            raise NotAuthenticated("send the client key as `Authorization: Bearer <key>`")
        presented = hashlib.sha256(value[len(SCHEME) :].strip()).digest()
        tenant: str | None = None
        for digest, name in self.digests:
            if hmac.compare_digest(digest, presented):
                tenant = name
        if tenant is None:
            raise NotAuthenticated("the client key is not known here")
        return tenant
