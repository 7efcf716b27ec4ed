"""The methods that Li, Kwok and Zhou (ICML 2009) compare, and ours, with their settings.

An entry says how a method is made; a table runs all of them on the same rows. To add a
method to the tables, add an entry to `ENTRIES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from papers.data import UNLABELED, Floats, Ints, PartlyLabeled
from semisvm import (
    AnnealedSVC,
    ClusterKernelSVC,
    GradientTSVC,
    LaplacianRLSC,
    LaplacianSVC,
    LowDensitySeparation,
    MeanSVC,
    SemiBoostClassifier,
    TransductiveSVC,
)
from semisvm.model_selection import PartialLabelKFold

C, C_UNLABELED = 100.0, 0.1
MANY_LABELS = 50
FOLDS = 10
WIDTHS = (0.25, 0.5, 1.0, 2.0)
"""Of the Gaussian kernel, in units of the average distance of two rows."""
LAPLACIAN_FOLDS = 5
MOSTLY_KERNEL = {"reg": [1e-3], "manifold_weight": [0.1], "power": [1]}
"""Of a Laplacian machine whose outputs are smooth in the kernel's sense first."""


@dataclass(frozen=True)
class Setting:
    """What a method is told besides the rows.

    Attributes
    ----------
    kernel : str
        "linear" or "rbf".
    gamma : float
        Of the Gaussian kernel.
    n_labeled : int
    prior : array of shape (2,), or str
        Class shares of the unlabelled rows, or where they come from: "labels", "estimate".
    C : float
        Cost of a labelled row, for the methods that have one.
    """

    kernel: str
    gamma: float
    n_labeled: int
    prior: Floats | str | None
    C: float = C

    @property
    def reg(self) -> float:
        """What C is in our family of objectives: reg/2 ||w||^2 + 1/(2l) sum of losses."""
        return 1.0 / (2.0 * self.n_labeled * self.C)

    @property
    def shared(self) -> dict[str, Any]:
        """Parameters of our semi-supervised methods with a kernel."""
        return {"kernel": self.kernel, "gamma": self.gamma, "class_prior": self.prior}


@dataclass(frozen=True)
class Entry:
    """A method of the tables.

    Attributes
    ----------
    name : str
        As in the papers, where it is there.
    make : Setting -> estimator
    kernels : tuple of str
        Kernels to try; the better result counts, as in the papers. "-" for none.
    uses_prior : bool
    supervised : bool
        Whether it is fitted to the labelled rows alone.
    transductive : bool
        Whether its own labels of the unlabelled rows count, not its predictions.
    """

    name: str
    make: Callable[[Setting], Any]
    kernels: tuple[str, ...] = ("linear", "rbf")
    uses_prior: bool = True
    supervised: bool = False
    transductive: bool = False

    def accuracy(self, problem: PartlyLabeled, setting: Setting) -> float:
        """Fit the method; give the accuracy on the unlabelled rows in per cent."""
        free, model = problem.unlabeled, self.fitted(problem, setting)
        found = model.transduction_[free] if self.transductive else model.predict(problem.X[free])
        return 100.0 * float(np.mean(found == problem.y[free]))

    def fitted(self, problem: PartlyLabeled, setting: Setting) -> Any:
        """Fit the method to what it may see; of a search, give the model that it chose."""
        X, labels, model = problem.X, problem.labels, self.make(setting)
        if self.supervised:
            given = np.flatnonzero(labels != UNLABELED)
            return model.fit(X[given], labels[given])
        model.fit(X, labels)
        return getattr(model, "best_estimator_", model)


def svm(setting: Setting) -> SVC:
    """Make the supervised machine of the papers."""
    return SVC(C=setting.C, kernel=setting.kernel, gamma=setting.gamma)


def means(method: str) -> Callable[[Setting], MeanSVC]:
    """Make label means with the costs of the paper; as there, no intercept is moved."""

    def make(s: Setting) -> MeanSVC:
        return MeanSVC(s.C, C_unlabeled=C_UNLABELED, method=method, balance_tol=None, **s.shared)

    return make


def laplacian(kind: type[LaplacianRLSC | LaplacianSVC]) -> Callable[[Setting], Any]:
    """Make a Laplacian machine: with few labels as it is, with many by cross-validation.

    The published figures were obtained that way too. What is chosen is whether outputs
    follow the graph alone, or mostly a kernel.
    """
    choices = [{}, *({"kernel": [k], **MOSTLY_KERNEL} for k in ("rbf", "linear"))]

    def make(setting: Setting) -> Any:
        if setting.n_labeled < MANY_LABELS:
            return kind()
        return GridSearchCV(kind(), choices, cv=PartialLabelKFold(LAPLACIAN_FOLDS))

    return make


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "1-NN",
        lambda s: KNeighborsClassifier(1),
        kernels=("-",),
        uses_prior=False,
        supervised=True,
    ),
    Entry("SVM", svm, uses_prior=False, supervised=True),
    Entry("TSVM", lambda s: TransductiveSVC(s.reg, **s.shared), transductive=True),
    Entry("DA", lambda s: AnnealedSVC(1e-3, **s.shared), transductive=True),
    Entry("gradient TSVM", lambda s: GradientTSVC(1e-3, **s.shared), transductive=True),
    Entry(
        "LDS",
        lambda s: LowDensitySeparation(class_prior=s.prior),
        kernels=("-",),
        transductive=True,
    ),
    Entry(
        "SelfTraining",
        lambda s: SelfTrainingClassifier(LogisticRegression(C=s.C, max_iter=10_000)),
        kernels=("linear",),
        uses_prior=False,
    ),
    Entry(
        "LabelSpreading",
        lambda s: LabelSpreading(kernel="knn", n_neighbors=10),
        kernels=("-",),
        uses_prior=False,
        transductive=True,
    ),
    Entry(
        "Cluster-Kernel",
        lambda s: ClusterKernelSVC(random_state=0),
        kernels=("-",),
        uses_prior=False,
    ),
    Entry(
        "Laplacian RLS",
        laplacian(LaplacianRLSC),
        kernels=("-",),
        uses_prior=False,
        transductive=True,
    ),
    Entry(
        "Laplacian SVM",
        laplacian(LaplacianSVC),
        kernels=("-",),
        uses_prior=False,
        transductive=True,
    ),
    Entry("SemiBoost", lambda s: SemiBoostClassifier(), kernels=("-",), uses_prior=False),
    Entry("meanS3VM-iter", means("iter")),
    Entry("meanS3VM-mkl", means("mkl")),
)


def chosen_width(problem: PartlyLabeled, width: float) -> float:
    """Choose the width of the Gaussian kernel by ten folds of the labelled rows.

    With few labels it is the average distance, as in the papers.
    """
    given: Ints = np.flatnonzero(problem.labels != UNLABELED)
    if len(given) < MANY_LABELS:
        return width
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    gammas = [0.5 / (factor * width) ** 2 for factor in WIDTHS]
    search = GridSearchCV(SVC(C=C), {"gamma": gammas}, cv=folds)
    search.fit(problem.X[given], problem.labels[given])
    return float(np.sqrt(0.5 / search.best_params_["gamma"]))
