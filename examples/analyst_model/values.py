"""Dates, amounts, periods and the closed lists of the book, each as (what the request says, what
the tool call must hold)."""

from __future__ import annotations

from random import Random

from examples.analyst_model.splits import Split, is_heldout

CURRENCIES = [
    "EUR",
    "USD",
    "GBP",
    "CHF",
    "JPY",
    "SEK",
    "NOK",
    "DKK",
    "PLN",
    "CZK",
    "HUF",
    "CAD",
    "AUD",
    "NZD",
    "SGD",
    "HKD",
]
AGENCIES = ["S&P", "Moody's", "Fitch", "DBRS"]
DAYS = [1, 2, 3, 5, 7, 10, 14, 15, 20, 21, 30, 45, 60, 90]
RATINGS = ["AAA", "AA+", "AA", "AA-", "A+", "A", "A-", "BBB+", "BBB", "BBB-", "BB+", "BB", "B"]

# value in the call -> (English, French) words of the request
RATIOS = {
    "CET1": ("CET1 ratio", "le ratio CET1"),
    "LCR": ("LCR", "le LCR"),
    "ROE": ("ROE", "le ROE"),
    "leverage": ("leverage ratio", "le ratio de levier"),
    "NIM": ("net interest margin", "la marge nette d'intérêt"),
    "cost_income": ("cost-income ratio", "le coefficient d'exploitation"),
}
DESKS = {
    "rates": ("rates", "taux"),
    "credit": ("credit", "crédit"),
    "equity": ("equity", "actions"),
    "fx": ("FX", "change"),
    "treasury": ("treasury", "trésorerie"),
    "commodities": ("commodities", "matières premières"),
}
ASSET_CLASSES = {
    "bonds": ("bond", "obligations"),
    "swaps": ("swap", "swaps"),
    "options": ("option", "options"),
    "futures": ("futures", "contrats à terme"),
    "loans": ("loan", "prêts"),
    "repos": ("repo", "pensions"),
}
PRODUCTS = {
    "swap": ("swaps", "les swaps"),
    "repo": ("repos", "les pensions"),
    "loan": ("loans", "les prêts"),
    "fx_forward": ("FX forwards", "le change à terme"),
    "guarantee": ("guarantees", "les garanties"),
}
_MONTHS = (
    [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
)

DATE_HELDOUT_ONE_IN = 8


def date(rng: Random, *, french: bool, split: Split) -> tuple[str, str]:
    """Return a day as the request words it, and in ISO form; held-out days never occur in
    training."""
    while True:
        year, month, day = rng.randint(2021, 2026), rng.randint(1, 12), rng.randint(1, 28)
        iso = f"{year}-{month:02d}-{day:02d}"
        if is_heldout(iso, one_in=DATE_HELDOUT_ONE_IN) == (split == "heldout"):
            break
    return (iso if rng.random() < 0.6 else f"{day} {_MONTHS[french][month - 1]} {year}"), iso


def amount(rng: Random) -> tuple[str, int | float]:
    """Return an amount as the request words it (``12 million``, ``28,300``, ``1534.50``), and its
    JSON number."""
    kind = rng.random()
    if kind < 0.3:
        millions = rng.randint(1, 250)
        return f"{millions} million", millions * 1_000_000
    whole = rng.randint(11, 9999) * rng.choice([1, 10, 100, 1000])
    if kind < 0.6:
        return f"{whole:,}", whole
    if kind < 0.75:
        cents = rng.randint(1000, 999_999) / 100
        return f"{cents:.2f}", cents
    return str(whole), whole


def euros(rng: Random) -> int:
    """Return an amount of the book in EUR: three to five significant digits, 100 thousand to 10
    billion."""
    return rng.randint(100, 99_999) * 10 ** rng.randint(3, 5)


def period(rng: Random) -> tuple[str, str]:
    """Return a reporting period as the request words it, and as ``2024Q3`` or ``FY2024``."""
    year = rng.randint(2021, 2026)
    if rng.random() < 0.35:
        return f"FY{year}", f"FY{year}"
    quarter = rng.randint(1, 4)
    return rng.choice([f"Q{quarter} {year}", f"{year}Q{quarter}"]), f"{year}Q{quarter}"
