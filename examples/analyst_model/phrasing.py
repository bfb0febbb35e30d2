"""How a request is worded: noun phrases per tool, sentence frames around them, follow-ups, in
English and French.

Every list is a product of small parts, split by hash (`splits`): one in six noun phrases, frames
and follow-ups is held out and occurs in no training row. Slots: {n} name, {d} day, {p} pair, {q}
ratio, {t} period, {k} desk, {a} asset class, {m} amount, {f} from and {g} to currency, {y} agency,
{x} days, {z} product.
"""

from __future__ import annotations

from itertools import product
from random import Random

from examples.analyst_model.splits import Split, part

HELDOUT_ONE_IN = 6


def _join(*parts: str) -> tuple[str, ...]:
    return tuple("".join(words) for words in product(*(p.split("|") for p in parts)))


NOUN_PHRASES: dict[tuple[str, bool], tuple[str, ...]] = {
    ("get_rate", False): _join(
        "the {p} rate|the {p} fixing|the {p} exchange rate"
        "|the rate of {p}|the exchange rate {p}|{p}",
        " on {d}| of {d}| for {d}| at {d}| as of {d}",
    ),
    ("get_rate", True): _join(
        "le taux {p}|le cours {p}|le taux de change {p}|le cours de {p}",
        " du {d}| au {d}| le {d}| pour le {d}",
    ),
    ("convert", False): _join(
        "{m} {f}|the amount {m} {f}",
        " in {g}| converted to {g}| into {g}| expressed in {g}| to {g}",
    )
    + _join("the {g} value|the {g} amount", " of {m} {f}| for {m} {f}"),
    ("convert", True): _join(
        "{m} {f}|le montant {m} {f}|la conversion de {m} {f}", " en {g}| vers {g}| exprimé en {g}"
    ),
    ("list_positions", False): _join(
        "the {a} positions|all {a} positions|open {a} positions|the list of {a} positions",
        " of the {k} desk| on the {k} desk| held by the {k} desk| at the {k} desk",
    )
    + _join("what the {k} desk ", "holds in|has in|keeps in", " {a} positions"),
    ("list_positions", True): _join(
        "les positions|toutes les positions|la liste des positions",
        " en {a}| sur {a}",
        " du desk {k}| au desk {k}",
    ),
    ("get_exposure", False): _join(
        "our exposure|the exposure|our total exposure|the group exposure",
        " to {n}| on {n}| towards {n}",
        " as of {d}| at {d}| on {d}| for {d}",
    )
    + _join(
        "how much we are exposed to {n}|how exposed we are to {n}", " as of {d}| at {d}| on {d}"
    ),
    ("get_exposure", True): _join(
        "l'exposition|notre exposition|notre exposition totale",
        " sur {n}| à {n}| envers {n}",
        " au {d}| le {d}| du {d}",
    ),
    ("get_ratio", False): _join(
        "the {q} of {n}|{n}'s {q}|the {q} for {n}|the {q} at {n}", " for {t}| in {t}| over {t}"
    )
    + _join("the {t} {q}", " of {n}| for {n}| at {n}"),
    ("get_ratio", True): _join(
        "{q} de {n}|{q} chez {n}|{q} publié par {n}", " pour {t}| sur {t}| en {t}| au titre de {t}"
    ),
    ("get_rating", False): _join(
        "the rating|the credit rating|the current rating",
        " of {n}| for {n}",
        " by {y}| from {y}| at {y}",
    )
    + _join("the {y} rating|the {y} credit rating|the current {y} rating", " of {n}| for {n}")
    + _join("{n}'s rating|{n}'s credit rating", " by {y}| from {y}")
    + ("how {y} rates {n}",),
    ("get_rating", True): _join(
        "la note|la notation|la note de crédit", " de {n}| attribuée à {n}", " par {y}| chez {y}"
    )
    + _join("la note {y}|la notation {y}", " de {n}| pour {n}"),
    ("get_news", False): _join(
        "the news|headlines|the headlines|recent news|what was published",
        " on {n}| about {n}",
        " from the last {x} days| over {x} days| in the past {x} days| of the last {x} days",
    ),
    ("get_news", True): _join(
        "les nouvelles|l'actualité|les dépêches",
        " sur {n}| de {n}",
        " des {x} derniers jours| sur {x} jours| depuis {x} jours",
    ),
    ("get_limit", False): _join("the {z} limit|our {z} limit", " of {n}| for {n}| with {n}| on {n}")
    + _join("the limit for {z}|our limit for {z}|the limit on {z}", " with {n}| of {n}| for {n}")
    + _join("how much room {n} has ", "under its {z} limit|within its {z} limit"),
    ("get_limit", True): _join(
        "la limite|le plafond|notre limite", " de {n}| sur {n}", " pour {z}| sur {z}"
    ),
}

FRAMES: dict[bool, tuple[str, ...]] = {
    False: _join(
        "|Please |Now ",
        "show me|give me|get me|find|look up|fetch|check|pull|tell me",
        " {}",
        ".| for the credit memo.| for the committee.|, please.",
    )
    + _join(
        "Can you |Could you ",
        "show me|give me|get me|find|look up|fetch|check",
        " {}",
        "?| for the credit memo?| for the committee?",
    )
    + _join(
        "I need|I want|We need", " {}", ".| for the credit memo.| for the morning call.|, please."
    )
    + _join("For the morning call|For the committee|For the memo", ": {}."),
    True: _join(
        "Donne-moi|Affiche|Cherche|Trouve|Montre-moi|Il me faut",
        " {}",
        ".|, merci.| pour le comité.| pour la note de crédit.",
    )
    + _join(
        "Peux-tu |Pourrais-tu ",
        "chercher|afficher|trouver|me donner",
        " {}",
        " ?| pour le comité ?",
    )
    + _join("Pour le comité|Pour la note|Pour le point du matin", " : {}."),
}

# A follow-up that only makes sense with a figure from the tool result: convert it.
CONVERT_FOLLOW_UPS: dict[bool, tuple[str, ...]] = {
    False: _join(
        "Convert that|Convert it|Express that|Express it|Put that",
        " in {g}| into {g}| to {g}",
        ".|, please.",
    )
    + _join("What is that|How much is that|What is it|How much is it", " in {g}?")
    + _join("And in {g}", "?|, please?")
    + _join("Show me |Give me |I need ", "that in {g}.|it in {g}.|the same in {g}."),
    True: _join(
        "Convertis cela|Convertis ce montant|Convertis-le|Exprime cela|Donne ce montant",
        " en {g}",
        ".|, merci.",
    )
    + _join("Combien cela fait|Combien ça fait|Cela fait combien", " en {g} ?")
    + _join("Et en {g}", " ?|, s'il te plaît ?"),
}
# A follow-up that names only what changes: another counterparty or company.
NAME_FOLLOW_UPS: dict[bool, tuple[str, ...]] = {
    False: _join("And|And now|The same|Same question", " for {n}", "?|, please?")
    + _join("What about {n}|And {n}", "?"),
    True: _join(
        "Et|Et maintenant|La même chose|Même question|Pareil|Refais-le|Donne-le|Idem",
        " pour {n}",
        " ?|, merci.|, s'il te plaît.",
    ),
}


def choose(rng: Random, texts: tuple[str, ...], split: Split) -> str:
    """Return one of the texts that belong to ``split``."""
    return rng.choice(part(texts, split, one_in=HELDOUT_ONE_IN))
