"""Fuzzing: mutated and generated files for every reader and for the loader of models."""
