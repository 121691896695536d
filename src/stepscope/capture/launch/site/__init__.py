"""A folder for ``PYTHONPATH``: a starting Python imports its ``sitecustomize``."""
