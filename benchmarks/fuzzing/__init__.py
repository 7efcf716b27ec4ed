"""Inputs that nobody would write: mutations of files, and what must hold for them."""
