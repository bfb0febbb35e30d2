"""Names of counterparties and companies: enough combinations that a model must copy a name and
cannot know it."""

from __future__ import annotations

from random import Random

from examples.analyst_model.splits import Split, is_heldout


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    """
    Nord Alpen Rhein Valmont Harbor Sterling Iber Lux Baltic Monte Castel Aur Ver Brem Kron
    Silver Stone Grand Lomb Tirol Bosco Dan Helv Oster Mar Clair Beau Roche Font Green North
    West East South Cap Merid Orion Vega Atlas Delta Omni Prima Nova Terra Solar Penn Wood Lake
    River Hill
    """
)
_LAST = _words(
    """
    bank kredit fin trust invest gas steel energie motors pharma holding capital chem tel log
    air rail foods media tech hausen burg stadt mont ville bridge field gate port land
    """
)
_SYLLABLES = _words(
    """
    ba co da fe gi ho ka lu mi no pe qui ro sa te vo wa xi yo zu bre cla dri fra gro pli sta tri
    ven mor
    """
)
_SECOND_WORDS = _words(
    """
    Partners Group Holdings Industries Capital Trust Insurance Leasing Services Bank
    """
)
_LEGAL_FORMS = _words("SA AG Plc NV SpA AB GmbH Oy Ltd SE")

HELDOUT_ONE_IN = 8


def _core(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(_FIRST) + rng.choice(_LAST)
    if kind < 0.75:
        return "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice([2, 3, 3, 4]))).capitalize()
    if kind < 0.87:
        return f"{rng.choice(_FIRST)} {rng.choice(_SECOND_WORDS)}"
    return rng.choice(["Banque", "Credit"]) + " " + rng.choice(_FIRST) + rng.choice(_LAST)


def name(rng: Random, split: Split) -> str:
    """Return a name of ``split``; the legal form is not part of what is held out, the core name
    is."""
    while True:
        core = _core(rng)
        if is_heldout(core, one_in=HELDOUT_ONE_IN) == (split == "heldout"):
            return f"{core} {rng.choice(_LEGAL_FORMS)}" if rng.random() < 0.6 else core
