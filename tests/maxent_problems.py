"""Small problems of the maxent classifiers with class shares."""

import numpy as np

from problems import hide, two_blobs
from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    PosteriorRegularizedClassifier,
)
from semisvm.designs import make_design
from semisvm.labels.hierarchy import flat
from semisvm.losses import LOG
from semisvm.losses.log import probabilities
from semisvm.methods import Recorder
from semisvm.tasks.many_classes import ManyClassTask

CONSTRAINED = [ExpectationConstrainedClassifier, EntropyRegularizedClassifier]
EVERY = [*CONSTRAINED, PosteriorRegularizedClassifier]


def blobs(m, n=160, d=5, seed=0):
    if m == 2:
        return two_blobs(n, d, seed=seed, positive=0.3)
    rng = np.random.default_rng(seed)
    y = rng.choice(m, n, p=np.arange(1, m + 1) / np.arange(1, m + 1).sum())
    X = rng.standard_normal((n, d))
    X[:, :2] += 2.5 * np.column_stack([np.cos(2 * np.pi * y / m), np.sin(2 * np.pi * y / m)])
    return X, y


def central_differences(function, x, h=1e-6):
    out = np.empty(x.size)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        ahead, behind = function(x + step.reshape(x.shape)), function(x - step.reshape(x.shape))
        out[k] = (ahead - behind) / (2 * h)
    return out.reshape(x.shape)


def mean_entropy(S):
    p = probabilities(S)
    return -np.sum(p * np.log(p)) / len(p)


def task_of(m, workers, seed=0):
    X, y = blobs(m, 40, 3, seed)
    labels = hide(y, 3 * m)
    free = np.flatnonzero(labels == -1)
    given = np.flatnonzero(labels != -1)
    return ManyClassTask.of(
        make_design(X, 1.0, workers, True),
        given,
        free,
        labels[given],
        np.full(len(given), 1 / len(given)),
        counts=np.bincount(y[free], minlength=m),
        loss=LOG,
        hierarchy=flat(np.arange(m)),
        reg=1e-2,
        recorder=Recorder(),
    )
