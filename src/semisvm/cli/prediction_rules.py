"""Options about when to believe a prediction, for ``predict`` and ``evaluate``."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from semisvm.cli.messages import UserError, as_usage_error, print_stderr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semisvm.model import Model
    from semisvm.model_selection.decisions import Decision

USUAL_COVERAGE = 0.9
LOOKED_AT = 500
"""Rows of a piece of data that are compared with those of the fit."""

Top = Annotated[
    int | None,
    typer.Option(
        "--top", min=1, metavar="K", help="Write the K most probable classes, with probabilities."
    ),
]
Explain = Annotated[
    int | None,
    typer.Option(
        "--explain",
        min=1,
        metavar="K",
        help="Write the K words or columns that speak most for each label; with a kernel, the K "
        "training rows.",
    ),
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        "--vocabulary",
        help="A file with the name of every column of a matrix, one per line.",
        metavar="FILE",
    ),
]
NewShares = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="SHARES",
        help="Shares of the classes in these rows, as in spam=0.8,ham=0.2, if they differ from "
        "those of the fit: probabilities and labels follow them.",
    ),
]
Adapt = Annotated[
    bool,
    typer.Option(
        "--adapt", help="Estimate the shares of the classes in these rows; reads the files twice."
    ),
]


def adapted(
    bundle: "Model", prior: str | None, adapt: bool, pieces: Callable[[], Iterator[Any]]
) -> "Model":
    """Return the model for rows in which classes are mixed as --prior or --adapt have it."""
    import numpy as np

    from semisvm.cli.options import ESTIMATE, read_prior

    if prior is None and not adapt:
        return bundle
    adapt, prior = adapt or prior == ESTIMATE, None if prior == ESTIMATE else prior
    if prior is not None and adapt:
        raise UserError("--prior gives the shares that --adapt estimates: take one of them.")
    if not bundle.has_probabilities:
        raise UserError(
            f"{'--adapt' if adapt else '--prior'} needs probabilities, which this model does not "
            "have. Fit it with --probabilities, or by a method that has them."
        )
    if prior is not None:
        shares = read_prior(prior, set(bundle.classes_.tolist()))
        if isinstance(shares, str):
            raise UserError(f"--prior must have shares, as in spam=0.8,ham=0.2, not {prior!r}.")
        with as_usage_error():
            return bundle.adapt(shares)
    p = [bundle.probabilities(bundle.matrix(piece)) for piece in pieces()]
    if not sum(map(len, p)):
        return bundle
    found = bundle.estimate_shares(np.concatenate(p))
    names = zip(bundle.classes_.tolist(), found.tolist(), strict=True)
    listed = ", ".join(f"{name} {share:.1%}" for name, share in names)
    print_stderr(f"estimated class shares of these rows: {listed}")
    return bundle.adapt(found)


@dataclass(frozen=True)
class Rules:
    """When a label is given, and sets of classes."""

    abstain_below: Annotated[
        float | None,
        typer.Option(
            "--abstain-below",
            metavar="P",
            help="Give no label if its probability is below P (with --cost: if the expected cost "
            "is above 1 - P).",
        ),
    ] = None
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="CLASS=P",
            help="Give this label only if its probability is at least P, as in spam=0.9; "
            "repeatable.",
        ),
    ] = None
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="TRUE:GIVEN=COST",
            help="What an error costs, as in spam:ham=5 for spam that is labelled ham; other "
            "errors cost 1. The label of the least expected cost is given. Repeatable.",
        ),
    ] = None
    coverage: Annotated[
        float | None,
        typer.Option(
            "--coverage",
            metavar="SHARE",
            help="Sets of classes that hold the true one for about this share of the rows; needs "
            "a model fitted with --probabilities.",
        ),
    ] = None

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options are given."""
        return {
            "--abstain-below": self.abstain_below is not None,
            "--threshold": bool(self.threshold),
            "--cost": bool(self.cost),
            "--coverage": self.coverage is not None,
        }

    def decision(self, bundle: "Model") -> "Decision":
        """Return the rule for the classes of a model."""
        from semisvm.model_selection.decisions import Decision

        return Decision.of(
            bundle.classes_,
            abstain_below=self.abstain_below,
            thresholds=dict(map(_threshold, self.threshold or [])),
            costs=dict(_cost(text, bundle) for text in self.cost or []),
        )


@dataclass(frozen=True)
class Wanted:
    """What is asked for besides the label and its score.

    Attributes
    ----------
    decision : Decision
    coverage : float, optional
        Of sets of classes.
    top, explain : int
        Numbers of classes and of reasons.
    names : array of shape (d,), optional
        Of the features, if they are the reasons; else training rows are.
    """

    decision: "Decision"
    coverage: float | None = None
    top: int = 0
    explain: int = 0
    names: "NDArray[Any] | None" = None

    def labels(self, bundle: "Model", X: Any) -> tuple[Any, Any]:
        """Return the codes of rows, and which rows get an answer."""
        import numpy as np

        codes = bundle.codes(X)
        if self.decision.is_usual:
            return codes, np.ones(len(codes), dtype=bool)
        return self.decision.codes(bundle.probabilities(X), codes)

    def columns(self, bundle: "Model", X: Any, codes: Any) -> dict[str, list[Any]]:
        """Return further columns of the output for rows and their codes."""
        from semisvm.model_selection.decisions import most_probable

        found: dict[str, list[Any]] = {}
        if self.top:
            p = bundle.probabilities(X)
            for k, best in enumerate(most_probable(p, self.top).T, start=1):
                found[f"label_{k}"] = bundle.classes_[best].tolist()
                found[f"probability_{k}"] = p[range(len(best)), best].tolist()
        if self.coverage is not None:
            found["set"] = listed_sets(bundle, bundle.sets_of_rows(X, self.coverage))
        if self.explain and self.names is None:
            by_rows = bundle.row_reasons_of_rows(X, codes, self.explain)
            # as in other commands, rows are counted from 1
            found["because_rows"] = [[row + 1 for row, _ in each] for each in by_rows]
            found["contributions"] = [[part for _, part in each] for each in by_rows]
        elif self.names is not None:
            reasons = bundle.reasons_of_rows(X, codes, self.explain, self.names)
            found["because"] = [[name for name, _ in row] for row in reasons]
            found["contributions"] = [[part for _, part in row] for row in reasons]
        return found


def listed_sets(bundle: "Model", inside: Any) -> list[list[Any]]:
    """Return the classes in each set."""
    return [bundle.classes_[row].tolist() for row in inside]


def wanted(
    bundle: "Model",
    rules: Rules,
    *,
    top: int | None = None,
    explain: int | None = None,
    vocabulary: Path | None = None,
) -> Wanted:
    """Check the options against the model, before anything is read or written."""
    from semisvm.model_selection.explaining import check_weights, has_row_weights

    by_rows = has_row_weights(bundle.estimator)
    needing = {
        "--abstain-below": rules.abstain_below,
        "--threshold": rules.threshold,
        "--cost": rules.cost,
        "--top": top,
    }
    for option, value in needing.items():
        if value and not bundle.has_probabilities:
            raise UserError(
                f"{option} needs probabilities, which this model does not have. Fit it with "
                "--probabilities, or by a method that has them (see 'semisvm methods')."
            )
    with as_usage_error():
        decision = rules.decision(bundle)
        if rules.coverage is not None:
            bundle.check_coverage(rules.coverage)
        if explain is not None and not by_rows:
            check_weights(bundle.estimator)
    if vocabulary is not None and explain is None:
        raise UserError("--vocabulary names the columns that --explain lists: give both.")
    if vocabulary is not None and by_rows:
        raise UserError("--vocabulary names columns; with a kernel, --explain lists training rows.")
    names = None if explain is None or by_rows else feature_names(bundle, vocabulary)
    return Wanted(decision, rules.coverage, top or 0, explain or 0, names)


def feature_names(bundle: "Model", vocabulary: Path | None) -> Any:
    """Return the names of the features, of a matrix perhaps from a file."""
    from semisvm.tables.reading import read_names

    if vocabulary is None:
        return bundle.names_of_features()
    if bundle.features is not None:
        raise UserError("--vocabulary is for models of matrices: this one has names of its own.")
    return bundle.names_of_features(read_names(vocabulary, int(bundle.estimator.n_features_in_)))


def _threshold(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    if not equals:
        raise UserError(f"--threshold must look like spam=0.9, but {text!r} has no '='.")
    return name.strip(), _number("--threshold", text, number)


def _cost(text: str, bundle: "Model") -> tuple[tuple[str, str], float]:
    names, _, number = text.rpartition("=")
    if ":" not in names:
        raise UserError(
            f"--cost must look like spam:ham=5 (true class:label that is given=cost), not {text!r}."
        )
    known = {str(label) for label in bundle.classes_.tolist()}
    parts = names.split(":")
    # a name may hold a colon itself
    cuts = [(":".join(parts[:k]), ":".join(parts[k:])) for k in range(1, len(parts))]
    pairs = [(true.strip(), given.strip()) for true, given in cuts]
    pair = next((pair for pair in pairs if known.issuperset(pair)), pairs[0])
    return pair, _number("--cost", text, number)


def _number(option: str, text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise UserError(f"{option} {text}: {number!r} is not a number.") from None


class Answers(NamedTuple):
    """What the rules give for rows.

    Attributes
    ----------
    codes : int array of shape (n,)
    answered : bool array of shape (n,)
        Which rows get an answer.
    inside : bool array of shape (n, m), or None
        Sets of classes.
    """

    codes: "NDArray[Any]"
    answered: "NDArray[Any]"
    inside: "NDArray[Any] | None"


def judged_coverage(bundle: "Model", requested: Wanted) -> float | None:
    """Return the coverage of the sets to judge: what is asked for, else 0.9 if it can be had."""
    if requested.coverage is not None or bundle.conformal is None:
        return requested.coverage
    return USUAL_COVERAGE if bundle.conformal.most_coverage >= USUAL_COVERAGE else None


def answers_of(bundle: "Model", piece: Any, requested: Wanted) -> Answers:
    """Apply the rules to rows."""
    X = bundle.matrix(piece)
    coverage = judged_coverage(bundle, requested)
    inside = None if coverage is None else bundle.sets_of_rows(X, coverage)
    return Answers(*requested.labels(bundle, X), inside)


def judged(bundle: "Model", labels: Any, requested: Wanted, answers: Answers) -> dict[str, Any]:
    """Compare answers by rules, and sets of classes, with labels that are known.

    Parameters
    ----------
    bundle : Model
    labels : object array of shape (n,)
    requested : Wanted
    answers : Answers
    """
    import numpy as np

    places = {str(label): k for k, label in enumerate(bundle.classes_.tolist())}
    known = np.array([label is not None for label in labels])
    truth = np.array([places.get(str(label), -1) for label in labels])[known]
    codes, kept = answers.codes[known], answers.answered[known]
    facts: dict[str, Any] = {}
    if not requested.decision.is_usual:
        facts["answered"] = float(kept.mean())
        facts["accuracy_of_answered"] = _mean((codes == truth)[kept])
    if requested.decision.costs is not None and (truth >= 0).all():
        facts["mean_cost"] = _mean(requested.decision.costs[truth, codes][kept])
    if answers.inside is not None:
        inside = answers.inside[known]
        covered = inside[np.arange(len(truth)), truth] & (truth >= 0)
        facts["sets"] = {
            "coverage": judged_coverage(bundle, requested),
            "covered": float(covered.mean()),
            "covered_by_class": {
                name: float(covered[truth == k].mean())
                for name, k in places.items()
                if (truth == k).any()
            },
            "mean_size": float(inside.sum(axis=1).mean()),
            "single": float((inside.sum(axis=1) == 1).mean()),
        }
    return facts


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def in_short(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what `judged` returns for a table of facts."""
    shown = {name: value for name, value in facts.items() if name != "sets"}
    if "sets" in facts:
        sets = facts["sets"]
        shown["coverage"] = (
            f"{sets['covered']:.4g} by sets of {sets['mean_size']:.3g} classes "
            f"({sets['coverage']:g} asked for)"
        )
    return shown


class Likeness:
    """Compares a sample of every piece of data, and predicted labels, with those of the fit.

    Parameters
    ----------
    bundle : Model
    """

    def __init__(self, bundle: "Model") -> None:
        self._bundle = bundle
        self._measured: list[Any] = []
        self._labels: Counter[Any] = Counter()

    def watch(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """Yield the pieces as they are."""
        from semisvm.tables.errors import DataError

        for piece in pieces:
            if self._bundle.familiarity is not None and len(piece):
                # what cannot be predicted is reported by the prediction
                with suppress(DataError):
                    self._measured.append(self._bundle.measure(piece, LOOKED_AT))
            yield piece

    def count(self, labels: Iterable[Any]) -> None:
        """Count predicted labels, to compare their shares with those of the fit."""
        self._labels.update(labels)

    def sentences(self) -> list[str]:
        """Return in which way rows and predictions look unlike those of the fit."""
        known, found = self._bundle.familiarity, []
        if known is not None and self._measured:
            found = known.judge(self._measured).sentences()
        mixed = self._bundle.unusual_shares(self._labels)
        return found if mixed is None else [*found, mixed]

    def warn(self) -> None:
        """Write notes to the error stream."""
        for sentence in self.sentences():
            print_stderr(f"warning: {sentence}")
