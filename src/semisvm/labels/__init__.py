"""Partly labelled data: which rows have which label, class shares, weights, hierarchies."""
