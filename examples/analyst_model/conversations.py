"""Whole conversations whose last assistant turn is to be learned: one or two calls, follow-ups,
final sentences, no tool at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from examples.analyst_model import answers, phrasing, values
from examples.analyst_model.answers import Call
from examples.analyst_model.names import name
from examples.analyst_model.splits import Split

Kind = Literal["single", "parallel", "follow_up", "none", "final"]
KINDS: tuple[Kind, ...] = ("single", "parallel", "follow_up", "none", "final")
_MIX = (0.47, 0.17, 0.12, 0.08, 0.16)
_FRENCH_SHARE = 0.25
_NOT_FOUND_SHARE = 0.06
ALL_TOOLS = tuple(answers._PURPOSE)
# tool -> the key of its result that a follow-up can convert
_CONVERTIBLE = {
    "get_exposure": "exposure_eur",
    "list_positions": "total_eur",
    "get_limit": "limit_eur",
}
_NAMED = {
    "get_exposure": "counterparty",
    "get_limit": "counterparty",
    "get_rating": "counterparty",
    "get_ratio": "company",
    "get_news": "company",
}

_SMALL_TALK = [
    ("Hello.", "Hello, which figure do you need?"),
    ("Good morning!", "Good morning, how can I help?"),
    ("Thanks a lot.", "You are welcome."),
    ("Bonjour.", "Bonjour, quel chiffre vous faut-il ?"),
    ("Merci beaucoup.", "Avec plaisir."),
    (
        "What does LCR mean?",
        "LCR is the liquidity coverage ratio: liquid assets over thirty days of net outflows.",
    ),
    ("What is a CET1 ratio?", "CET1 is core equity capital divided by risk-weighted assets."),
    ("Explain ROE.", "ROE is net income divided by shareholder equity."),
    (
        "What can you do?",
        "I look up rates, exposures, ratios, positions, ratings, news and limits.",
    ),
    (
        "Que sais-tu faire ?",
        "Je cherche taux, expositions, ratios, positions, notes, nouvelles et limites.",
    ),
    ("What is a repo?", "A repo is a sale of securities with an agreement to buy them back."),
    ("What is the leverage ratio?", "The leverage ratio is tier one capital over total exposure."),
    ("Who are you?", "I am a banking analyst assistant."),
    ("Can you trade for me?", "No, I can only look up figures."),
]
_REFUSALS = [
    ("Write a poem about {n}.", "I cannot write about {n}, I can only look up figures."),
    ("Should I buy shares of {n}?", "I give no advice on {n}, but I can show its figures."),
    ("What is our exposure to {n}?", "On which date do you need the exposure to {n}?"),
    ("Give me the rating of {n}.", "From which agency do you need the rating of {n}?"),
    ("Quelle est la note de {n} ?", "De quelle agence voulez-vous la note de {n} ?"),
    ("Call the treasurer of {n}.", "I cannot call {n}, I can only look up figures."),
]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One row: the messages so far, and the assistant turn that should follow (calls, or
    content)."""

    kind: Kind
    messages: list[dict[str, Any]]
    calls: list[Call]
    content: str
    thinking: str
    french: bool
    tools_used: tuple[str, ...] = field(default=())
    heldout_phrasing: bool = False


def _arguments(
    rng: Random, tool: str, *, french: bool, split: Split
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the slot texts for a noun phrase, and the arguments of the call, in the order of the
    tool's schema."""
    match tool:
        case "get_rate":
            first, second = rng.sample(values.CURRENCIES, 2)
            day, iso = values.date(rng, french=french, split=split)
            pair = rng.choice([f"{first}/{second}", f"{first}/{second}", f"{first}{second}"])
            return {"p": pair, "d": day}, {"currency_pair": f"{first}/{second}", "date": iso}
        case "convert":
            first, second = rng.sample(values.CURRENCIES, 2)
            words, number = values.amount(rng)
            return {"m": words, "f": first, "g": second}, {
                "amount": number,
                "from_currency": first,
                "to_currency": second,
            }
        case "list_positions":
            desk, asset = rng.choice(list(values.DESKS)), rng.choice(list(values.ASSET_CLASSES))
            slots = {"k": values.DESKS[desk][french], "a": values.ASSET_CLASSES[asset][french]}
            return slots, {"desk": desk, "asset_class": asset}
    who = name(rng, split)
    match tool:
        case "get_exposure":
            day, iso = values.date(rng, french=french, split=split)
            return {"n": who, "d": day}, {"counterparty": who, "as_of": iso}
        case "get_ratio":
            ratio = rng.choice(list(values.RATIOS))
            words, period = values.period(rng)
            slots = {"n": who, "q": values.RATIOS[ratio][french], "t": words}
            return slots, {"company": who, "ratio": ratio, "period": period}
        case "get_rating":
            agency = rng.choice(values.AGENCIES)
            return {"n": who, "y": agency}, {"counterparty": who, "agency": agency}
        case "get_news":
            days = rng.choice(values.DAYS)
            return {"n": who, "x": str(days)}, {"company": who, "days": days}
    product = rng.choice(list(values.PRODUCTS))
    return {"n": who, "z": values.PRODUCTS[product][french]}, {
        "counterparty": who,
        "product": product,
    }


def _opening(
    rng: Random, tools: list[str], *, french: bool, values_from: Split, wording: Split
) -> tuple[dict[str, Any], list[Call]]:
    phrases, calls = [], []
    for tool in tools:
        slots, arguments = _arguments(rng, tool, french=french, split=values_from)
        phrases.append(
            phrasing.choose(rng, phrasing.NOUN_PHRASES[tool, french], wording).format(**slots)
        )
        calls.append({"name": tool, "arguments": arguments})
    frame = phrasing.choose(rng, phrasing.FRAMES[french], wording)
    text = frame.format((" et " if french else " and ").join(phrases))
    return {
        "role": "user",
        "content": text[0].upper() + text[1:] if rng.random() < 0.7 else text,
    }, calls


def _exchange(
    user: dict[str, Any], calls: list[Call], found: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the user turn, the assistant's calls and the tools' results as messages."""
    return [
        user,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": call} for call in calls],
        },
        *({"role": "tool", "content": json.dumps(one, ensure_ascii=False)} for one in found),
    ]


def _follow_up(
    rng: Random, tools: list[str], *, french: bool, values_from: Split, wording: Split
) -> tuple[list[dict[str, Any]], Call]:
    """Return a finished exchange with a follow-up question, and the call it asks for."""
    convertible = [tool for tool in tools if tool in _CONVERTIBLE] if "convert" in tools else []
    named = [tool for tool in tools if tool in _NAMED]
    convert = bool(convertible) and (not named or rng.random() < 0.7)
    tool = rng.choice(convertible if convert else named)
    user, calls = _opening(rng, [tool], french=french, values_from=values_from, wording=wording)
    found = answers.result(rng, calls[0])
    history = _exchange(user, calls, [found])
    history.append(
        {"role": "assistant", "content": answers.sentence(calls[0], found, french=french)}
    )
    if convert:
        target = rng.choice([currency for currency in values.CURRENCIES if currency != "EUR"])
        text = phrasing.choose(rng, phrasing.CONVERT_FOLLOW_UPS[french], wording).format(g=target)
        arguments = {
            "amount": found[_CONVERTIBLE[tool]],
            "from_currency": "EUR",
            "to_currency": target,
        }
        call = {"name": "convert", "arguments": arguments}
    else:
        who = name(rng, values_from)
        text = phrasing.choose(rng, phrasing.NAME_FOLLOW_UPS[french], wording).format(n=who)
        call = {"name": tool, "arguments": {**calls[0]["arguments"], _NAMED[tool]: who}}
    history.append({"role": "user", "content": text})
    return history, call


def conversation(
    rng: Random,
    *,
    values_from: Split = "train",
    wording: Split = "train",
    kind: Kind | None = None,
    tools: tuple[str, ...] = ALL_TOOLS,
) -> Conversation:
    """Return one row that uses only ``tools``; ``values_from`` and ``wording`` say which part of
    each split it draws from."""
    kind = kind or rng.choices(KINDS, _MIX)[0]
    french = rng.random() < _FRENCH_SHARE
    if kind == "none":
        who = name(rng, values_from)
        question, answer = rng.choice(_SMALL_TALK) if rng.random() < 0.4 else rng.choice(_REFUSALS)
        user = {"role": "user", "content": question.format(n=who)}
        return Conversation(
            kind, [user], [], answer.format(n=who), answers.THINKING_WITHOUT_TOOL, french
        )
    options: dict[str, Any] = {"french": french, "values_from": values_from, "wording": wording}
    after_follow_up = kind == "final" and rng.random() < 0.25
    if kind == "follow_up" or after_follow_up:
        history, call = _follow_up(rng, list(tools), **options)
        messages, user, calls = history[:-1], history[-1], [call]
    else:
        count = 2 if kind == "parallel" or (kind == "final" and rng.random() < 0.3) else 1
        user, calls = _opening(rng, rng.sample(list(tools), count), **options)
        messages = []
    used = tuple(call["name"] for call in calls)
    heldout = wording == "heldout"
    if kind != "final":
        thinking = answers.thinking_before_calls(calls)
        return Conversation(kind, [*messages, user], calls, "", thinking, french, used, heldout)
    found = [
        answers.NOT_FOUND if rng.random() < _NOT_FOUND_SHARE else answers.result(rng, call)
        for call in calls
    ]
    content = " ".join(
        answers.sentence(c, f, french=french) for c, f in zip(calls, found, strict=True)
    )
    thinking = answers.thinking_before_sentence(found)
    return Conversation(
        kind,
        [*messages, *_exchange(user, calls, found)],
        [],
        content,
        thinking,
        french,
        used,
        heldout,
    )
