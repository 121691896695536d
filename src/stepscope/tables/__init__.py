"""Columns to facts: what every tool shares, as functions of a ``Host`` or a ``Profile``."""
