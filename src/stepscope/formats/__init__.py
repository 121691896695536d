"""File formats: how each is recognised, and how its bytes become a ``Space``.

One file or folder per format. Nothing to the right of ``columns`` learns where a recording came
from, except through a diagnostic that says what its format cannot hold.
"""
