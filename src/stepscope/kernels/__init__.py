"""The compiled kernels: the only code that touches every byte of a file or every event one by one.

Ordinary Python files with Cython annotations, named in ``_kernels.txt`` and compiled at
installation; ``core`` chooses machine code where it was built. They know arrays and no profile.
"""
