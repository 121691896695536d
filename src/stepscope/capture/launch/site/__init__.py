"""A folder for ``PYTHONPATH``: what is in it is found by name by a Python that starts."""
