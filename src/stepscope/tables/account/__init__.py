"""Where every moment of a step goes, as the loop's thread meets it.

The thread that runs the loop decides: what it does itself takes the time, and while it waits, what
it waits for does. Each moment has one owner (a line of the program, a call into a library, an op,
a wait), so that the owners' times sum to the step.
"""
