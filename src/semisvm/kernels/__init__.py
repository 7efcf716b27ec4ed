"""Kernels as feature maps, which turn every linear method into a kernel method."""

from semisvm.kernels.cholesky import Factor, pivoted_cholesky
from semisvm.kernels.functions import Kernel, make_kernel
from semisvm.kernels.maps import ExpansionMap, FeatureMap, KernelMap, fit_expansion, fit_map

__all__ = [
    "ExpansionMap",
    "Factor",
    "FeatureMap",
    "Kernel",
    "KernelMap",
    "fit_expansion",
    "fit_map",
    "make_kernel",
    "pivoted_cholesky",
]
