"""Feature maps: what makes a kernel machine of every linear one."""

from semisvm.features.cholesky import Factor, pivoted_cholesky
from semisvm.features.kernels import Kernel, make_kernel
from semisvm.features.maps import FeatureMap, KernelMap, fit_map

__all__ = [
    "Factor",
    "FeatureMap",
    "Kernel",
    "KernelMap",
    "fit_map",
    "make_kernel",
    "pivoted_cholesky",
]
