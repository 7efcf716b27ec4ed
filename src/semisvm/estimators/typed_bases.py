"""The base classes of scikit-learn, with types.

scikit-learn ships no types. mypy accepts any argument to the constructor of a class whose bases it
does not know, so it would not see a misspelt parameter. It alone reads the declarations below:
``MYPY`` is true to it, and false to other checkers and at run time.
"""

MYPY = False
if MYPY:
    from typing import Any, Self

    class BaseEstimator:
        """As in scikit-learn; attributes of fitted estimators have any type."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102
        def __sklearn_tags__(self) -> Any: ...
        def __sklearn_clone__(self) -> Self: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        """As in scikit-learn."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...  # noqa: D102
        def __sklearn_tags__(self) -> Any: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["BaseEstimator", "ClassifierMixin"]
