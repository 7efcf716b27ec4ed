"""Features from the columns of a table."""

from semisvm.columns.encoders import encode_texts
from semisvm.columns.features import ColumnFeatures
from semisvm.columns.kinds import find_kind

__all__ = ["ColumnFeatures", "encode_texts", "find_kind"]
