"""Strict reading of a JSON object: a key that nobody asked for is an error."""

from collections.abc import Iterator

from lambdas.assistant.errors import PlanInvalid

RENDER_AGAIN = "render the deployment again with the same release of Perimeter as this one"


class Fields:
    """The keys of one object at `path`. Call `done()` when all known keys have been read."""

    def __init__(self, value: object, *, path: str) -> None:
        if not isinstance(value, dict):
            raise PlanInvalid(where=path, rule="must be an object", fix=RENDER_AGAIN)
        self._value = value
        self._left = set(value)
        self.path = path

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self._take(key)
        if not isinstance(value, str) or not value:
            raise self.invalid(key, "must be a text that is not empty")
        return value

    def integer(self, key: str, *, minimum: int) -> int:
        """A whole number, `minimum` or more."""
        value = self._take(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.invalid(key, f"must be a whole number of at least {minimum}")
        return value

    def number(self, key: str, *, minimum: float) -> float:
        """A number, `minimum` or more, as it was written (0 stays an integer)."""
        value = self._take(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < minimum:
            raise self.invalid(key, f"must be a number of at least {minimum:g}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self._take(key)
        if not isinstance(value, bool):
            raise self.invalid(key, "must be true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, none twice."""
        value = self._take(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.invalid(key, "must be a list of texts")
        if len(set(value)) != len(value):
            raise self.invalid(key, "holds the same text twice")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, object]:
        """An object whose content is the caller's to judge."""
        value = self._take(key)
        if not isinstance(value, dict):
            raise self.invalid(key, "must be an object")
        return value

    def items(self, key: str) -> list[object]:
        """A list whose content is the caller's to judge."""
        value = self._take(key)
        if not isinstance(value, list):
            raise self.invalid(key, "must be a list")
        return value

    def nested(self, key: str) -> "Fields":
        """A nested object."""
        return Fields(self._take(key), path=f"{self.path}.{key}")

    def entries(self, key: str) -> Iterator[tuple[str, "Fields"]]:
        """The entries of an object of objects, by name."""
        for name, value in self.mapping(key).items():
            yield name, Fields(value, path=f"{self.path}.{key}.{name}")

    def done(self) -> None:
        """Refuse keys that were not read."""
        if self._left:
            names = ", ".join(sorted(self._left))
            raise PlanInvalid(where=self.path, rule=f"unknown key: {names}", fix=RENDER_AGAIN)

    def invalid(self, key: str, rule: str) -> PlanInvalid:
        """The error for one key."""
        return PlanInvalid(where=f"{self.path}.{key}", rule=rule, fix=RENDER_AGAIN)

    def _take(self, key: str) -> object:
        if key not in self._value:
            raise self.invalid(key, "is missing")
        self._left.discard(key)
        return self._value[key]
