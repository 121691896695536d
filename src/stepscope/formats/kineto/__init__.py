"""PyTorch's recordings (Kineto's trace JSON) as XSpaces.

``read`` turns the text into columns, ``planes`` the columns into planes, lines and stats that
every tool reads; ``names`` says what things are called, ``launches`` how kernels were launched.
"""
