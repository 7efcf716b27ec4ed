"""Invented mails, and sessions in which they are labelled."""

import numpy as np

from semisvm.labelling import LabelingSession

WORDS = {
    "spam": ["cheap", "pills", "money", "win", "offer", "prize", "buy", "cash", "free", "deal"],
    "ham": [
        "lunch",
        "monday",
        "meeting",
        "plan",
        "report",
        "project",
        "team",
        "budget",
        "notes",
        "agenda",
    ],
}


def mails(n=120, seed=0):
    """Return texts and their kinds."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["spam", "ham"], n, p=[0.4, 0.6])
    common = [f"w{k}" for k in range(30)]
    texts = [" ".join([*rng.choice(WORDS[k], 4), *rng.choice(common, 6)]) for k in kinds]
    return texts, kinds.tolist()


TEXTS, KINDS = mails()


def session(texts=TEXTS, **options):
    options = {"classes": ["spam", "ham"], "background": False, **options}
    return LabelingSession({"body": texts}, **options)


def label(found, n, kinds=KINDS, fit_every=None, client=None):
    queries = []
    for k in range(n):
        query = found.ask(client)
        found.answer(query.row, kinds[query.row])
        queries.append(query)
        if fit_every and k % fit_every == fit_every - 1:
            found.fit()
    return queries
