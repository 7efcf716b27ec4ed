"""Messages of the library in the words of the command line.

The library names its parameters, as in ``unlabeled='none'`` or "the parameter reg". Whoever uses
the command line sets them by options, so the options are what the command line prints.
"""

import re
import shlex

from semisvm.registry import methods

OPTIONS = {
    "abstain_below": "--abstain-below",
    "costs": "--cost",
    "coverage": "--coverage",
    "thresholds": "--threshold",
    **{p.name: p.option for method in methods() for p in method.parameters if p.option},
    "categorical": "--categorical",
    "column_weights": "--column-weight",
    "encoding": "--encoding",
    "format": "--format",
    "hash_columns": "--hash",
    "key": "--key",
    "label": "--label",
    "labels_file": "--labels",
    "max_columns": "--columns",
    "max_features": "--max-features",
    "min_df": "--min-df",
    "numeric": "--numeric",
    "repeats": "--repeats",
    "sheet": "--sheet",
    "stop_words": "--stop-words",
    "text": "--text",
    "unlabeled": "--unlabeled",
}
"""Parameters and the options that set them."""

SWITCHES = {
    "as_is=True": "--as-is",
    "bounded=False": "--methods all",
    "exportable=True": "--exportable",
    "na_is_class=True": "--na-is-class",
    "probabilities=True": "--probabilities",
    "quotes=False": "--no-quotes",
    "resume=True": "--resume",
    "zero_based=False": "--one-based",
    "zero_based=True": "--zero-based",
}
"""Values of parameters that have an option of their own."""

_NAMES = "|".join(OPTIONS)
_SWITCH = re.compile(rf"\b(?:{'|'.join(SWITCHES)})\b")
_VALUE = re.compile(rf"\b({_NAMES})=(?:'([^']*)'|(\d+)(?!\.?\w)|(?=[\s,.;:)]|$))")
_NAME = re.compile(rf"\bparameter ({_NAMES})\b")


def in_options(text: str) -> str:
    """Return a message with options in place of parameters.

    >>> in_options("If 0 is a class, use unlabeled='none'.")
    'If 0 is a class, use --unlabeled none.'
    """
    text = _SWITCH.sub(lambda found: SWITCHES[found[0]], text)
    text = _NAME.sub(lambda found: f"option {OPTIONS[found[1]]}", text)
    return _VALUE.sub(_with_value, text)


def _with_value(found: re.Match[str]) -> str:
    name, quoted, number = found.groups()
    value = number if quoted is None else shlex.quote(quoted)
    return OPTIONS[name] if value is None else f"{OPTIONS[name]} {value}"
