"""Measurements of Stepscope against the incumbent: ``python3 dev.py bench``."""

import os

# A first opening is measured as one; what measures the second turns the cache on.
os.environ.setdefault("STEPSCOPE_CACHE", "off")
