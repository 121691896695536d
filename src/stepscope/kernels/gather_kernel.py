# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels that pick the stats of wanted names out of the long form."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


def count_wanted(
    key: cython.const[cython.int][::1],
    wanted: cython.const[cython.int][::1],
    counts: cython.longlong[::1],
) -> None:
    """Count the stats of each wanted name; ``wanted`` maps a key to a name's number or -1."""
    i: cython.Py_ssize_t
    name: cython.int
    with cython.nogil:
        for i in range(key.shape[0]):
            if 0 <= key[i] < wanted.shape[0]:
                name = wanted[key[i]]
                if name >= 0:
                    counts[name] += 1


def collect_wanted(
    first_row: cython.longlong,
    stat_begin: cython.const[cython.longlong][::1],
    key: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    value: cython.const[cython.ulonglong][::1],
    wanted: cython.const[cython.int][::1],
    place: cython.longlong[::1],
    owner: cython.longlong[::1],
    kinds: cython.uchar[::1],
    values: cython.ulonglong[::1],
) -> None:
    """Write owner, kind and value of each wanted stat, name by name.

    The owners of the stats at ``stat_begin[0]:stat_begin[1]`` are ``first_row``, and so on.
    ``place[name]`` is where the next stat of that name goes, and is moved on.
    """
    row: cython.Py_ssize_t
    i: cython.Py_ssize_t
    name: cython.int
    with cython.nogil:
        for row in range(stat_begin.shape[0] - 1):
            for i in range(stat_begin[row], stat_begin[row + 1]):
                if 0 <= key[i] < wanted.shape[0]:
                    name = wanted[key[i]]
                    if name >= 0:
                        owner[place[name]] = first_row + row
                        kinds[place[name]] = kind[i]
                        values[place[name]] = value[i]
                        place[name] += 1
