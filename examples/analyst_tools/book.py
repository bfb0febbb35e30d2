"""The book and its tools. Each tool takes the arguments of its JSON schema and returns one flat
JSON object, or raises NotFound."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

SQL = Path(__file__).with_name("book.sql")
CLOSE = date(
    2026, 11, 30
)  # the book's own day: "the last 30 days" end here, so answers do not change with the clock


class NotFound(LookupError):
    """The book holds no such row."""


class Book:
    """An in-memory copy of the book; safe to share between threads, since nothing is written after
    opening."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(SQL.read_text(encoding="utf-8"))
        self._database.execute("PRAGMA query_only = ON")
        self.tools: dict[str, Callable[..., dict[str, Any]]] = {
            "convert": self.convert,
            "get_exposure": self.get_exposure,
            "get_limit": self.get_limit,
            "get_news": self.get_news,
            "get_rate": self.get_rate,
            "get_rating": self.get_rating,
            "get_ratio": self.get_ratio,
            "list_positions": self.list_positions,
        }

    def _row(self, query: str, *values: Any) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._database.execute(query, values).fetchone()
        if row is None or row[0] is None:
            raise NotFound(query)
        return row

    def _per_eur(self, currency: str, day: str) -> float:
        query = (
            "SELECT per_eur FROM rate WHERE currency = ? AND date <= ? ORDER BY date DESC LIMIT 1"
        )
        return float(self._row(query, currency, day)[0])

    def convert(self, *, amount: float, from_currency: str, to_currency: str) -> dict[str, Any]:
        """Return ``amount`` in ``to_currency`` at the latest rates, to the cent."""
        today = CLOSE.isoformat()
        value = round(
            amount * self._per_eur(to_currency, today) / self._per_eur(from_currency, today), 2
        )
        return {"amount": int(value) if value == int(value) else value}

    def get_exposure(self, *, counterparty: str, as_of: str) -> dict[str, Any]:
        """Return the exposure in EUR of the last book day at or before ``as_of`` (ISO)."""
        query = (
            "SELECT eur FROM exposure WHERE counterparty = ? AND as_of <= ?"
            " ORDER BY as_of DESC LIMIT 1"
        )
        return {"exposure_eur": self._row(query, counterparty, as_of)[0]}

    def get_limit(self, *, counterparty: str, product: str) -> dict[str, Any]:
        """Return the credit limit in EUR and how much of it is used, in percent."""
        query = "SELECT eur, used_pct FROM credit_limit WHERE counterparty = ? AND product = ?"
        limit, used = self._row(query, counterparty, product)
        return {"limit_eur": limit, "used_pct": used}

    def get_news(self, *, company: str, days: int) -> dict[str, Any]:
        """Return how many articles were published in the last ``days`` days of the book."""
        since = (CLOSE - timedelta(days=days)).isoformat()
        return {
            "articles": self._row(
                "SELECT count(*) FROM news WHERE company = ? AND published >= ?", company, since
            )[0]
        }

    def get_rate(self, *, currency_pair: str, date: str) -> dict[str, Any]:
        """Return units of the second currency for one of the first, at or before ``date`` (ISO), to
        four decimals."""
        first, _, second = currency_pair.partition("/")
        return {"rate": round(self._per_eur(second, date) / self._per_eur(first, date), 4)}

    def get_rating(self, *, counterparty: str, agency: str) -> dict[str, Any]:
        """Return the agency's rating of the counterparty."""
        query = "SELECT rating FROM rating WHERE counterparty = ? AND agency = ?"
        return {"rating": self._row(query, counterparty, agency)[0]}

    def get_ratio(self, *, company: str, ratio: str, period: str) -> dict[str, Any]:
        """Return a financial ratio in percent for a quarter (``2026Q3``) or year (``FY2025``)."""
        query = "SELECT value_pct FROM ratio WHERE company = ? AND ratio = ? AND period = ?"
        return {"value_pct": self._row(query, company, ratio, period)[0]}

    def list_positions(self, *, desk: str, asset_class: str) -> dict[str, Any]:
        """Return how many positions the desk holds in the asset class, and their total in EUR."""
        query = "SELECT sum(eur), count(*) FROM position WHERE desk = ? AND asset_class = ?"
        total, count = self._row(query, desk, asset_class)
        return {"count": count, "total_eur": total}
