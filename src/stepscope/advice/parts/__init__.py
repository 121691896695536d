"""A part of the step in words, and in hopes: what it is, what to do about it, what that saves.

``part_words`` words any part, by its kind with the files beside it; ``hopes`` says how much of it
a change takes away, by the ``changes`` that are known; ``replacements`` what to run instead.
"""
