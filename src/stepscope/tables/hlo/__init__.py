"""HLO: the compiled programs of a profile, read from the protos that travel with it.

``modules`` finds them, ``module`` reads one into computations and instructions, ``shape`` and
``text`` say what an instruction is, ``cost`` what it must compute and move, ``category`` how it
is filed, ``buffers`` and ``heap`` what it keeps in memory. ``recorded_ops`` says which of its
instructions an event ran.
"""
