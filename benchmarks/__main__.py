"""Run benchmarks by name and count the bars that they miss."""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from papers.data import MissingDataError, data_folder

from benchmarks import ROOT, fuzz
from semisvm.tables import DataError

BESIDE = ROOT.parent / "shared" / "data"

BENCHMARKS = {
    "kernels": "one pass over sparse data against scipy, with and without threads",
    "speed": "fits against a supervised machine that is given all labels",
    "scaling": "growth with the number of rows, threads and memory",
    "samples": "paths that begin on a sample of the rows, against whole ones: passes, objective",
    "answers": "steps that know how labels will answer, against turns of weights and labels",
    "temperatures": "annealing with temperatures closer where much is decided, against even ones",
    "roundings": "annealing of many classes in two orders of the rows: how far apart it ends",
    "outofcore": "fits to rows on the disk with limited memory, against rows in memory",
    "distributed": "fits on two workers against one process with two threads",
    "startup": "import, and the first fit of a process",
    "checkpoints": "what a checkpoint costs, and whether a resumed fit ends with the same model",
    "paths": "a path of ten regularisations against one fit, and what it chooses",
    "shares": "class shares that nobody told: how far off, and what the models gain",
    "positive": "labels of one class alone, beside Elkan-Noto and non-negative PU",
    "careful": "how much unlabelled rows should weigh where their class shares are estimated",
    "gradient": "GradientTSVC with many classes: where it does harm, and whether its note says so",
    "audit": "labels that were made wrong: are they among those that the audit doubts",
    "coverage": "95% intervals: how often they hold the truth (--sets kinds, sets)",
    "certify": "rows certified by random labels: broken bounds, and rows against an oracle",
    "trust": "calibrated probabilities, sets of classes, verdicts (--sets kinds)",
    "reading": "files of 50,000 texts and of 18,846 sparse rows; the help of the command line",
    "columns": "one more column beside texts and tables: noise, and columns that inform",
    "textvectors": "words, vectors of texts, and both blocks with and without scaling",
    "embeddings": "vectors of texts: tuned classifiers of scikit-learn, and unlabelled rows",
    "newrows": "short texts: are new rows predicted like the unlabelled rows of the fit",
    "intents": "77 intents, ten labels of each, words as features, beside published encoders",
    "graphs": "Laplacian machines, cluster kernel and SemiBoost on published splits; many rows",
    "ranks": "every method, auto and tuned rivals on all sets, new rows too; long, see --sets",
    "choices": "the default choice beside svm: new rows, hard data, a rare class (--sets kinds)",
    "autocost": "the time of auto, in fits of everything in its pool",
    "strengths": "the regularisation of a supervised SVM by the variance of the rows",
    "tolerances": "features of a Gaussian kernel by the tolerance of its factor",
    "kernelfits": "kernel machines against scikit-learn's, and the factor of the kernel matrix",
    "newsfeatures": "the supervised figure of 20 newsgroups by words, weights and lengths",
    "comp": "one group of newsgroups against the rest",
    "concave": "VS3VM by a kept dual program against cold linear programs; larger data",
    "mip": "the S3VM's global optimum, and how far VS3VM is from it",
    "labelling": "a simulated expert: the rows that the labelling page picks against random ones",
    "selection": "which rows to have labelled: clusters, margins, chance",
    "costs": "seconds of a fit of every method, beside the estimate of the registry",
    "manyspeed": "many classes against one supervised machine per class that is given all labels",
    "manylabels": "several labels per row: MultiLabelSVC against one fit per label",
    "weak": "a few labels and unreliable ones of all rows: gold alone, weak alone, and both",
    "labelspeed": "the labelling page: next row of 100,000 texts, 20 answers per second",
    "labelpeople": "five people at the labelling page, kill -9 and a full disk at random moments",
    "labelsteps": "label steps on their own: times, gaps, and their effect",
    "meanqp": "the quadratic program of label means against an interior point solver",
    "regs": "the grid behind the default regularisation of every loss",
}

# Not part of all: they judge a change of the code, or are in it already.
TOOLS = {
    "revisions": "a revision of this repository against another one, fits in turns",
    "house": "files, lines, what a fit enters and what a change touches; beside --base",
}

ONLY = {
    "sets": (
        "audit",
        "certify",
        "choices",
        "columns",
        "coverage",
        "embeddings",
        "gradient",
        "labelling",
        "ranks",
        "samples",
        "shares",
        "strengths",
        "trust",
        "weak",
    ),
    "methods": ("columns", "shares", "ranks", "outofcore", "distributed", "samples"),
    "base": ("revisions", "house"),
    "head": ("revisions",),
    "gate": ("revisions",),
    "rows": ("outofcore", "distributed", "labelpeople", "labelspeed", "samples"),
    "memory": ("outofcore",),
}
"""Options that not every benchmark has, and which have them."""


def _for(option: str, what: str) -> str:
    return f"{', '.join(ONLY[option])}: {what}"


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, *TOOLS, "all"])
    parser.add_argument("--data", metavar="DIR", help="data folder (default: $SEMISVM_DATA)")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="rounds of a timing, or splits of a table"
    )
    parser.add_argument("--sets", metavar="A,B", help=_for("sets", "only these sets"))
    parser.add_argument(
        "--methods", metavar="NAMES", help=_for("methods", "only these, or only TSVM or DA")
    )
    parser.add_argument("--base", metavar="REV", help=_for("base", "what to compare with"))
    parser.add_argument("--head", metavar="REV", help=_for("head", "default is the working tree"))
    gate = _for("gate", "made-up data, and exit with 1 if a fit has become slower")
    parser.add_argument("--gate", action="store_const", const=True, help=gate)
    parser.add_argument("--rows", type=int, metavar="N", help=_for("rows", "number of rows"))
    parser.add_argument(
        "--memory", type=float, metavar="SHARE", help=_for("memory", "of a fit, in units of X")
    )
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--list", action="store_true", help="print what there is")
    options = parser.parse_args(arguments)
    if options.name is None and not options.list:
        parser.error("name a benchmark, or all; --list prints what there is")
    for option, names in ONLY.items():
        if getattr(options, option) is not None and options.name not in names:
            parser.error(f"--{option} is for {', '.join(names)}")
    if options.rows is not None and options.rows < 1000:
        parser.error("--rows must be at least 1000")
    if options.repeat is not None and options.repeat < 1:
        parser.error("--repeat must be at least 1")
    return options


def run(name: str, folder: Path, repeat: int | None, **more: Any) -> dict[str, Any]:
    """Run one benchmark, with its own number of repetitions unless one is given."""
    module = import_module(f"benchmarks.{name}")
    result: dict[str, Any] = module.run(folder, repeat or module.REPEAT, **more)
    return result


def limits_of(options: argparse.Namespace) -> dict[str, Any]:
    """Collect what limits a benchmark: revisions, sets and methods, rows and memory."""
    found = {name: getattr(options, name) for name in ("base", "head", "gate")}
    for name in ("sets", "methods"):
        listed = getattr(options, name)
        found[name] = listed.split(",") if listed else None
    found |= {"n_rows": options.rows, "share": options.memory}
    return {name: value for name, value in found.items() if value is not None}


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["fuzz"]:
        return fuzz.main(given[1:])
    options = read_arguments(given)
    if options.list:
        listed = {**BENCHMARKS, **TOOLS, "fuzz": f"{fuzz.SUMMARY} (not among all)"}
        print("\n".join(f"{name:10}  {what}" for name, what in listed.items()))
        return 0
    names = list(BENCHMARKS) if options.name == "all" else [options.name]
    try:
        folder = Path() if options.gate else data_folder(options.data, BESIDE)
        more = limits_of(options)
        results = {name: run(name, folder, options.repeat, **more) for name in names}
    except (MissingDataError, DataError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    misses = sum(result["misses"] for result in results.values())
    print(f"{misses} bars missed" if misses != 1 else "1 bar missed")
    return 1 if options.gate and misses else 0


if __name__ == "__main__":
    sys.exit(main())
