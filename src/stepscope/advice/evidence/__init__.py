"""Results to clues: what several rules of advice read out of results, measured in one place.

A clue judges nothing. From when on it is a problem, and what to do then, a rule says; words that
several rules say of the same clue stand beside it.
"""
