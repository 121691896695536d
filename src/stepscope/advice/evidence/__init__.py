"""Results to clues: what several rules of advice read out of results, measured in one place.

A clue judges nothing. A rule says when it is a problem and what to do then; wording that
several rules share about a clue is kept with the clue.
"""
