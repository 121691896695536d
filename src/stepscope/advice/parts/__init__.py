"""A part of the step in words: what it is, what to do about it, and what a change to it saves.

``part_words`` words any part, by its kind with the files beside it; ``expected_effects`` says how
much of it a change takes away, by the ``changes`` that are known; ``replacements`` what to run
instead.
"""
