"""Columns to facts: what every tool shares. Each table is a function of a ``Host`` or ``Profile``."""
