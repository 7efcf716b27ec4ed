"""Features from the columns of a table."""

from semisvm.columns.features import ColumnFeatures
from semisvm.columns.kinds import find_kind

__all__ = ["ColumnFeatures", "find_kind"]
