"""The running process: its threads, their frames, its clock and its machine.

Everything a recorder needs from Python that is not about any framework.
"""
