"""How the results of the papers' experiments are shown in the guide: each view is a table."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any

Result = dict[str, Any]
Rows = list[dict[str, Any]]
View = Callable[[Result], str]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None, digits: int = 1) -> str:
    """Return a figure; nothing for one that was not measured."""
    return "" if value is None else f"{value:.{digits}f}"


def beside(here: float | None, paper: float | None, digits: int = 1) -> str:
    """Return a figure with that of the paper in brackets."""
    return number(here, digits) + ("" if paper is None else f" ({number(paper, digits)})")


def table_of(result: Result, beginning: str) -> Rows:
    """Return the rows of the table whose title begins so."""
    (found,) = (rows for title, rows in result["tables"].items() if title.startswith(beginning))
    return list(found)


def one(rows: Rows, **wanted: Any) -> dict[str, Any]:
    """Return the only row that has these values."""
    (found,) = (row for row in rows if all(row[key] == value for key, value in wanted.items()))
    return found


def names_of(rows: Rows, column: str) -> list[Any]:
    """Return the values of a column, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))


REAL = {
    "SVM": "SVM",
    "JTSVM": "JTSVM (`TransductiveSVC`, `max_switches=1`)",
    "TSVM, all switches": "`TransductiveSVC`",
    "gradient TSVM": "∇TSVM (`GradientTSVC`)",
    "DA (l2)": "DA (`AnnealedSVC`, `temperature=10`)",
    "DA (sqr)": 'DA, `loss="squared"`',
    "DA (l2), our default": "`AnnealedSVC`",
    "DA (l2), T = 0.1": "fixed T = 0.1",
    "DA (l2), T = 0.01": "fixed T = 0.01",
    "DA (l2), T = 0.001": "fixed T = 0.001",
}


def realworld(result: Result) -> str:
    """Return both tables of real-world sets as one."""
    sets = [result["tables"][name] for name in ("PCMAC", "COIL6")]
    header = ["", "PCMAC: unlabelled", "unseen", "COIL6: unlabelled", "unseen"]
    columns = (("unlab %", "paper"), ("test %", "paper, test"))
    rows = []
    for method, shown in REAL.items():
        found = (one(rows_of_set, method=method) for rows_of_set in sets)
        cells = [beside(row[here], row[paper]) for row in found for here, paper in columns]
        rows.append([shown, *cells])
    return markdown(header, rows)


METHODS = ("TransductiveSVC", "AnnealedSVC", "GradientTSVC", "LowDensitySeparation")
HOT = "AnnealedSVC, T from 10"


def many_class_splits(result: Result) -> str:
    """Return the published splits of many classes with three kinds of shares."""
    columns = (METHODS[0], METHODS[1], HOT, *METHODS[2:])
    shares = {"labels": "labelled", "estimate": "estimated", "true": "true"}
    rows = []
    for name in ("uspst", "coil_ssl"):
        found = {(row["method"], row["prior"]): row for row in result["tables"][name]}
        for prior, shown in shares.items():
            first = prior == "labels"
            cells = [found.get((method, prior), {}).get("error %") for method in columns]
            supervised = number(found["supervised", "-"]["error %"]) if first else ""
            rows.append([name if first else "", shown, supervised, *map(number, cells)])
    header = ["", "class shares", "supervised", *(f"`{m}`" for m in columns)]
    header[5] = "... T from 10"
    return markdown(header, rows)


TEMPERATURES = ("schedule", "T = 0.1", "T = 0.01", "T = 0.001", "schedule, refined")


def temperatures(result: Result) -> str:
    """Return the schedule beside fixed temperatures, also at the best lambda."""
    rows = []
    for name, shown in (
        ("text1_pcmac", "text1_pcmac, linear, λ = 1e-3"),
        ("coil_ssl", "coil_ssl, Gaussian, half the median distance, λ = 1e-3"),
    ):
        found = {row["method"]: row for row in table_of(result, name)}
        ways = (*TEMPERATURES, "TransductiveSVC")
        best = "optimised %" if "optimised %" in found["schedule"] else None
        papers = [None if best else found[way]["paper"] for way in ways]
        cells = [beside(found[w]["error %"], p) for w, p in zip(ways, papers, strict=True)]
        rows.append([shown, *cells])
        if best:
            cells = [beside(found[way][best], found[way]["paper"]) for way in ways]
            rows.append(["... the best λ", *cells])
    return markdown(["", *TEMPERATURES, "`TransductiveSVC`"], rows)


def temperatures_over_labels(result: Result) -> str:
    """Return Fig. 4 of Sindhwani and Keerthi as a table."""
    found = table_of(result, "pcmac")
    header = ["labels", *(str(row["labelled"]) for row in found)]
    return markdown(header, [[way, *(number(row[way]) for row in found)] for way in TEMPERATURES])


def pcmac(result: Result) -> str:
    """Return Tables 2 and 3 of Sindhwani and Keerthi."""
    errors, objectives = (table_of(result, f"mean {what}") for what in ("test error", "objective"))
    rows = []
    for n in names_of(errors, "labelled"):
        found = [one(errors, labelled=n, method=method) for method in ("SVM", "TSVM", "DA")]
        cells = [beside(row["error %"], row["published"]) for row in found]
        value = one(objectives, labelled=n, method="TSVM")
        rows.append([str(n), *cells, beside(value["objective"], value["published"], 3)])
    kinds = ["`NewtonSVC`", "`TransductiveSVC`", "`AnnealedSVC`"]
    return markdown(["labels", *kinds, "objective of `TransductiveSVC`"], rows)


def switches(result: Result) -> str:
    """Return S = 1 beside S = max over the labels."""
    found = table_of(result, "pcmac")
    rows = []
    for n in names_of(found, "labelled"):
        single, many, annealed = (one(found, labelled=n, way=way) for way in SWITCHES)
        cells = [number(row[c], d) for row in (single, many) for c, d in RUNS]
        ratios = [beside(row["of S = max"], row["Table 4"]) for row in (single, annealed)]
        rows.append([str(n), *cells, *ratios, number(many["published"])])
    header = ["labels", "S = 1: error %", "rounds", "S = max: error %", "rounds"]
    ratios = ["time: S = 1 / S = max", "DA / S = max", "published error, TSVM"]
    return markdown([*header, *ratios], rows)


SWITCHES = ("TSVM, S = 1", "TSVM, S = max", "DA")
RUNS = (("error %", 1), ("rounds", 0))


SHAPES = (("moons", 0.2), ("moons", 0.3), ("circles", 0.3), ("circles", 0.4))
TOYS = {
    "JTSVM, hinge": "JTSVM (`TransductiveSVC`, `max_switches=1`), hinge",
    "JTSVM, squared hinge": "JTSVM, squared hinge",
    "TSVM, hinge": "`TransductiveSVC`, hinge",
    "TSVM, squared hinge": "`TransductiveSVC`, squared hinge",
    "gradient TSVM": "`GradientTSVC`",
    "DA, squared hinge": "`AnnealedSVC`, squared hinge",
    "DA, hinge": "`AnnealedSVC`, hinge",
}


def toys(result: Result) -> str:
    """Return the successes on moons and circles, beside the paper's."""
    rows = []
    for method, shown in TOYS.items():
        found = [one(result["tables"][s], method=method, width=width) for s, width in SHAPES]
        paper = [row["paper"].split("/")[0] for row in found[1:3] if row["paper"]]
        wins = [row["successes"].split("/")[0] for row in found]
        rows.append([shown, *wins, ", ".join(paper)])
    header = ["", *(f"{shape} {width}" for shape, width in SHAPES)]
    return markdown([*header, "paper, of ten: moons, circles"], rows)


def clustered(result: Result) -> str:
    """Return the table of Fung and Mangasarian, with both ways to judge CVS3VM."""
    whole = table_of(result, "CVS3VM, all rows")
    rows = []
    for row in table_of(result, "test correctness"):
        own = one(whole, set=row["set"])
        ours, plain, full = (beside(row[m], row[f"{m}, paper"]) for m in RLP)
        judged = [number(own[way]) for way in ("unlabelled rows", "all rows")]
        rows.append([row["set"], ours, *judged, plain, full])
    header = ["set", "CVS3VM, ten folds", "one fit: its unlabelled rows", "all its rows"]
    return markdown([*header, "RLP on random 10%", "RLP on all"], rows)


RLP = ("CVS3VM", "RLP 10%", "RLP all")


def sonar(result: Result) -> str:
    """Return what was tried on sonar."""
    (rows,) = result["tables"].values()
    ways = ("ten-fold", "unlabelled rows", "all rows")
    header = ["columns", "clusters", *(f"{way}: μ = 1, ν = 0.1 / best (μ, ν)" for way in ways)]

    def cell(row: dict[str, Any], way: str) -> str:
        best = number(row[f"{way}, best"])
        return f"{number(row[way])} / {best} ({row[f'{way}, mu, nu']})"

    cells = [
        [row["columns"], str(row["clusters"]), *(cell(row, way) for way in ways)] for row in rows
    ]
    return markdown(header, cells)


LOSSES = ("squared_hinge", "log", "crammer_singer")


def manysets(result: Result) -> str:
    """Return Macro F on every set with every loss."""
    tables = {loss: table_of(result, f"mean Macro F on the test rows, {loss}") for loss in LOSSES}
    columns = ("supervised", "counts", "annealing", "DA")
    rows = []
    for name, loss in product(names_of(tables["log"], "set"), LOSSES):
        row = one(tables[loss], set=name)
        error = number(row["s.e. of gain"], 3)
        shown = name.removesuffix("_tfidf") if loss == LOSSES[0] else ""
        rows.append([shown, f"`{loss}`", *(number(row[c], 2) for c in columns), error])
    header = ["set", "loss", "supervised", "counts", "TSVM", "`AnnealedSVC`"]
    return markdown([*header, "s.e. of the TSVM's gain"], rows)


def hierarchy(result: Result) -> str:
    """Return Macro F with and without the hierarchy."""
    columns = ("supervised, flat", "hierarchy", "annealing, flat", "with hierarchy")
    rows = [
        [f"`{row['loss']}`", *(number(row[column], 3) for column in columns)]
        for row in table_of(result, "mean Macro F")
    ]
    return markdown(["loss", "supervised", "... hierarchy", "TSVM", "... hierarchy"], rows)


def hierarchy_labels(result: Result) -> str:
    """Return Fig. 2 as a table."""
    found = table_of(result, "Macro F over labelled rows")
    header = ["labels", *(str(row["labelled"]) for row in found), "all labels"]
    rows = [[name, *(number(row[name], 2) for row in found)] for name in names_of_curves(found)]
    rows[0].append(number(found[0]["all labels"], 2))
    rows[1].append("")
    return markdown(header, rows)


def names_of_curves(found: Rows) -> list[str]:
    """Return the two machines of a curve."""
    return [name for name in ("supervised", "semi-supervised") if name in found[0]]


STEPS = {
    "exact": "`exact`",
    "simplex": "`simplex`",
    "simplex, all cells": "`simplex`, the best of all cells enters, as in the paper",
    "switching": "`switching`",
}


def labelcosts(result: Result) -> str:
    """Return the label steps that were not cut short."""
    tables = result["tables"]
    header = [""]
    for title in tables:
        header += [f"{title}: ms", "left to gain"]
    rows = []
    for step, shown in STEPS.items():
        cells = []
        for found in tables.values():
            row = one(found, **{"label step": step, "cut after": None})
            left = abs(row["left to gain %"])
            cells += [
                number(row["ms"], int(row["ms"] < 10.0)),
                "0" if left < 1e-4 else f"{left:.1f}%",
            ]
        rows.append([shown, *cells])
    return markdown(header, rows)


def features(result: Result) -> str:
    """Return correctness and number of features of both machines."""
    (rows,) = result["tables"].values()
    columns = ("1-norm %", "1-norm features", "FSV %", "FSV features")
    cells = [[row["set"], str(row["columns"]), *(number(row[c]) for c in columns)] for row in rows]
    return markdown(
        ["set", "columns", "1-norm: correct", "features", "FSV: correct", "features"], cells
    )


def maxent(kind: str, methods: dict[str, str], result: Result) -> str:
    """Return F at the threshold, and in brackets that of the highest scores."""
    found = table_of(result, f"mean F of the positive class, {kind}")
    rows = []
    for task, labels in dict.fromkeys((row["task"], row["labels"]) for row in found):
        cells = [one(found, task=task, labels=labels, method=method) for method in methods]
        shown = [beside(row["F"], row["F of top"], 2).replace("0.", ".") for row in cells]
        rows.append([f"{task}, {labels} labels", *shown])
    return markdown(["", *methods.values()], rows)


MAXENT = {
    "supervised": "supervised",
    "transductive": '`TransductiveSVC(loss="log")`',
    "entropy": "entropy",
    "expectation": "expectation",
    "posterior": "posterior",
}
VARIANTS = {
    "entropy": "entropy",
    "entropy, no constraint": "... without constraint",
    "expectation": "expectation",
    "expectation, penalty 1": "... as a penalty, 1",
    "expectation, penalty 100": "... 100",
    "posterior": "posterior",
    "posterior, C = 0.1 of the sum": "... C = 0.1 of the sum",
    "posterior, C = 0.1 of the mean": "... C = 0.1 of the mean",
}


VIEWS: dict[str, tuple[str, View]] = {
    "realworld": ("realworld", realworld),
    "splits of many classes": ("splits", many_class_splits),
    "temperatures": ("annealing", temperatures),
    "temperatures over labels": ("annealing", temperatures_over_labels),
    "pcmac": ("pcmac", pcmac),
    "switches": ("switches", switches),
    "toys": ("toys", toys),
    "clustered": ("clustered", clustered),
    "sonar": ("sonar", sonar),
    "manysets": ("manysets", manysets),
    "hierarchy": ("hierarchy", hierarchy),
    "hierarchy over labels": ("hierarchy", hierarchy_labels),
    "labelcosts": ("labelcosts", labelcosts),
    "features": ("features", features),
    "maxent": ("maxent", partial(maxent, "with intercept", MAXENT)),
    "maxent without intercept": ("maxent", partial(maxent, "without intercept", MAXENT)),
    "maxent variants": ("maxent", partial(maxent, "with intercept", VARIANTS)),
}
"""Block of a page -> result, and how it is shown."""
