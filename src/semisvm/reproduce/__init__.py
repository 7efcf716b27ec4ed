"""The tables of the papers, run again on the papers' data.

A table is a module with ``run(folder, repeat)``, which prints and returns what it found, and
``REPEAT``, its usual number of draws. To add one, add an entry to `TABLES`.

What compares figures with published ones lives here, because ``semisvm reproduce`` runs it from
an installed package. So do the parts that ``benchmarks/`` shares with it: tables and verdicts
(`table`), data and draws (`data`), times (`timing`). Measurements of this package's own speed and
tools are in ``benchmarks/``, which adds nothing of that kind.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table that can be reproduced.

    Attributes
    ----------
    name : str
        Of the module here, and on the command line.
    summary : str
    paper : str
    needs : tuple of str
        The data sets, each a folder with ``X.npz`` or ``X.npy``, and ``y.npy``.
    """

    name: str
    summary: str
    paper: str
    needs: tuple[str, ...]

    def run(self, folder: Path, repeat: int | None = None) -> dict[str, Any]:
        """Run the experiments; print the tables and give them as plain data.

        Parameters
        ----------
        folder : Path
            Holds the folders of the data sets.
        repeat : int, optional
            Random draws; by default as many as the published table, or what takes minutes.
        """
        module = import_module(f"semisvm.reproduce.{self.name}")
        result: dict[str, Any] = module.run(folder, repeat or module.REPEAT)
        return result


FUNG = "Fung and Mangasarian, Semi-supervised SVMs for unlabeled data classification, 2001"
SINDHWANI = "Sindhwani and Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006"
KERNELS = "Sindhwani, Keerthi and Chapelle, Deterministic annealing for S3VMs, ICML 2006"
LI = "Li, Kwok and Zhou, Semi-supervised learning using label mean, ICML 2009"
KEERTHI = "Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class, COLING 2012"

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "pcmac",
            "errors and objectives of Tables 2 and 3, beside the published ones",
            SINDHWANI,
            ("text1_pcmac",),
        ),
        Table(
            "switches",
            "one switch of labels at a time against many: Tables 3 and 4, Fig. 3",
            SINDHWANI,
            ("text1_pcmac",),
        ),
        Table(
            "reuters",
            "accuracy and balance where one class is rare, beside the C++ of the paper",
            SINDHWANI,
            ("lasvm_reuters",),
        ),
        Table(
            "newsgroups",
            "Macro F for twenty classes, with and without annealing",
            KEERTHI,
            ("20news_tfidf",),
        ),
        Table(
            "curves",
            "Macro F over the number of labelled and of unlabelled rows, Figs 3 and 4",
            KEERTHI,
            ("20news_tfidf", "la1", "webkb_tfidf", "ohscal", "r8_tfidf", "mnist", "usps"),
        ),
        Table(
            "labelcosts",
            "cost over time of the label steps, Fig. 1",
            KEERTHI,
            ("ohscal", "20news_tfidf"),
        ),
        Table(
            "toys",
            "two moons and two circles with a Gaussian kernel and two labels",
            KERNELS,
            (),
        ),
        Table(
            "realworld",
            "errors on unlabelled and on unseen rows, parameters optimised as in the paper",
            KERNELS,
            ("text1_pcmac", "coil_ssl"),
        ),
        Table(
            "splits",
            "errors on published splits with few labels, linear and with kernels",
            KERNELS,
            ("text1_pcmac", "g50c", "uspst", "coil_ssl"),
        ),
        Table(
            "annealing",
            "what the falling temperature does: a schedule against fixed temperatures",
            KERNELS,
            ("text1_pcmac", "coil_ssl"),
        ),
        Table(
            "clustered",
            "test correctness where clusters say which rows to have labelled",
            FUNG,
            ("wbc", "wdbc", "heart_cleveland", "housing", "ionosphere", "pima", "sonar"),
        ),
        Table(
            "features",
            "features used and test correctness: counting weights beside the 1-norm",
            FUNG,
            ("wdbc", "ionosphere", "sonar", "heart_cleveland"),
        ),
        Table(
            "book",
            "accuracy on the sets of the SSL book, Table 1, with ranks",
            LI,
            ("g241c", "digit1", "usps_ssl", "text_ssl"),
        ),
        Table(
            "halves",
            "accuracy on small sets and pairs of newsgroups, Tables 2 and 3",
            LI,
            ("wdbc", "australian", "house_votes", "vehicle", "optdigits", "20news_tfidf"),
        ),
        Table(
            "meantimes",
            "seconds of all methods side by side, Table 4",
            LI,
            ("g241c", "digit1", "usps_ssl", "text_ssl"),
        ),
        Table(
            "meangap",
            "label means beside the exact optima of problems (5) and (7), on few rows",
            LI,
            ("wdbc", "australian", "house_votes", "vehicle", "optdigits", "20news_tfidf"),
        ),
    )
}
