"""What turns rows into features: kernels, latent directions, graphs of neighbours, clusters."""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
