"""Verdicts: what the facts mean, in words: which part limits a step, which stage limits a pipeline.

One module per kind of verdict; tools put its sentences into their results. Facts come from
``tables``, what to change about them from ``advice``.
"""
