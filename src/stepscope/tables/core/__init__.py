"""What every table builds on: the ``Profile``, its planes, devices and stats, and integer helpers.

No module here knows what a kernel or a step is.
"""
