"""An input pipeline measured by itself, with synthetic data, and feeding the step.

``find`` gets the pipeline out of a program, ``batch`` knows what a batch holds, ``measure`` times
it, ``verdict`` compares it with the time of a step.
"""
