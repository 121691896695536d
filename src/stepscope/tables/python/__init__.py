"""Python's calls on a thread: whose code runs at each moment, and which of the program's functions.

``frames`` puts calls into each other and tells the program's from the libraries'; the rest says
which function stands for what runs below it: one of the program, a library's model or loop.
"""
