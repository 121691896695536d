"""From JSON text to columns in order of time, before anything is known of planes.

``scan`` takes the text apart piece by piece, ``read`` orders what it found, ``trace`` is what
they hand on; ``texts`` and ``args`` hold what events say, once per distinct text.
"""
