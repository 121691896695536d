"""Measurements of Stepscope against the incumbent: ``python3 dev.py bench``."""
