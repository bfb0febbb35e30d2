"""What tools return, the sentence that reports it, and the fixed wording of the thinking that leads
to a call or a sentence."""

from __future__ import annotations

from random import Random
from typing import Any

from examples.analyst_model import values

Call = dict[str, Any]  # {"name": str, "arguments": dict}

_PURPOSE = {
    "get_rate": "an FX rate on one day",
    "get_exposure": "our exposure to one counterparty",
    "get_ratio": "a financial ratio of one company",
    "list_positions": "the open positions of a desk",
    "convert": "a currency conversion",
    "get_rating": "a credit rating from an agency",
    "get_news": "recent news on a company",
    "get_limit": "a credit limit for one product",
}
NOT_FOUND = {"error": "not found"}  # what a tool of the book answers when it holds no such row
THINKING_WITHOUT_TOOL = (
    "The user does not ask for a figure that a tool can give with what is in the request. "
    "No tool is needed here, so I make no call. "
    "I answer directly, in one short sentence, and stay on the subject of the request."
)


def converted(amount: float, rate: float) -> int | float:
    """Return ``amount * rate`` to the cent, as an integer when it has no cents: the book's own tool
    does the same."""
    cents = round(amount * rate, 2)
    return int(cents) if cents == int(cents) else cents


def result(rng: Random, call: Call) -> dict[str, Any]:
    """Return a result as the tool of that name gives it, with random figures in the ranges of the
    book."""
    match call["name"]:
        case "get_rate":
            return {"rate": round(rng.randint(5000, 199_999) / 10**4, 4)}
        case "get_exposure":
            return {"exposure_eur": values.euros(rng)}
        case "get_ratio":
            return {"value_pct": round(rng.randint(10, 9999) / 100, 2)}
        case "list_positions":
            return {"count": rng.randint(1, 99), "total_eur": values.euros(rng)}
        case "convert":
            return {
                "amount": converted(
                    call["arguments"]["amount"], round(rng.randint(5000, 19_999) / 10**4, 4)
                )
            }
        case "get_rating":
            return {"rating": rng.choice(values.RATINGS)}
        case "get_news":
            return {"articles": rng.randint(0, 40)}
        case "get_limit":
            return {"limit_eur": values.euros(rng), "used_pct": rng.randint(0, 99)}
    raise ValueError(f"no such tool: {call['name']}")


def sentence(call: Call, found: dict[str, Any], *, french: bool) -> str:
    """Return the one sentence that reports ``found``; one wording per tool and language, so that it
    can be scored exactly."""
    a = call["arguments"]
    if found == NOT_FOUND:
        subject = next(iter(a.values()))
        return (
            f"Aucun chiffre trouvé pour {subject}."
            if french
            else f"No figure was found for {subject}."
        )
    match call["name"]:
        case "get_rate":
            english = f"{a['currency_pair']} was {found['rate']} on {a['date']}."
            other = f"Le taux {a['currency_pair']} était de {found['rate']} le {a['date']}."
        case "get_exposure":
            who, eur, day = a["counterparty"], found["exposure_eur"], a["as_of"]
            english = f"Our exposure to {who} is EUR {eur} as of {day}."
            other = f"L'exposition sur {who} est de {eur} EUR au {day}."
        case "get_ratio":
            ratio, who, value = a["ratio"], a["company"], found["value_pct"]
            english = f"The {ratio} of {who} is {value} % for {a['period']}."
            other = f"Le ratio {ratio} de {who} est de {value} % pour {a['period']}."
        case "list_positions":
            desk, count, eur = a["desk"], found["count"], found["total_eur"]
            english = f"The {desk} desk holds {count} {a['asset_class']} positions worth EUR {eur}."
            other = f"Le desk {desk} a {count} positions pour {eur} EUR."
        case "convert":
            english = f"{a['from_currency']} {a['amount']} is {a['to_currency']} {found['amount']}."
            other = f"{a['amount']} {a['from_currency']} font {found['amount']} {a['to_currency']}."
        case "get_rating":
            english = f"{a['agency']} rates {a['counterparty']} {found['rating']}."
            other = f"{a['agency']} note {a['counterparty']} {found['rating']}."
        case "get_news":
            count, who, days = found["articles"], a["company"], a["days"]
            english = f"There are {count} articles on {who} from the last {days} days."
            other = f"{count} articles sur {who} en {days} jours."
        case _:
            what, who, used = a["product"], a["counterparty"], found["used_pct"]
            limit = found["limit_eur"]
            english = f"The {what} limit of {who} is EUR {limit}, {used} % used."
            other = f"La limite {what} de {who} est de {limit} EUR, utilisée à {used} %."
    return other if french else english


def thinking_before_calls(calls: list[Call]) -> str:
    """Return the reasoning that names each tool, why it fits, and where every argument comes
    from."""
    lines = []
    for position, call in enumerate(calls):
        opening = "The user asks for" if position == 0 else "The user also asks for"
        lines.append(f"{opening} {_PURPOSE[call['name']]}, so the right tool is {call['name']}.")
        names = list(call["arguments"])
        lines.append(f"It needs {', '.join(names[:-1])} and {names[-1]}.")
        lines += [f"From the request, {name} is {call['arguments'][name]}." for name in names]
    lines.append(
        "Nothing is missing, so one call is enough."
        if len(calls) == 1
        else "The two calls do not depend on each other, so both go out together."
    )
    return "\n".join(lines)


def thinking_before_sentence(results: list[dict[str, Any]]) -> str:
    """Return the reasoning that repeats each figure before the final sentence."""
    figures = " ".join(f"{key} is {value}." for found in results for key, value in found.items())
    closing = "I copy the figures into one short answer and add nothing else."
    return f"The tools have answered. {figures} {closing}"
