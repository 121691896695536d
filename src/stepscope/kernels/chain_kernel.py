# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels over activities that wait for each other: how late each may end, and the longest way."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


def latest_ends(
    before: cython.const[cython.longlong][::1],
    after: cython.const[cython.longlong][::1],
    margin_ps: cython.const[cython.longlong][::1],
    latest_ps: cython.longlong[::1],
) -> None:
    """Lower each activity's latest end to what the activities that wait for it allow.

    Pairs are ordered so that all in which an activity comes before another precede those in
    which it comes after one. ``margin_ps`` is what lies between the end of ``before`` and that of
    ``after`` at least; ``latest_ps`` holds at the beginning what the end of all allows.
    """
    i: cython.Py_ssize_t
    allowed: cython.longlong
    with cython.nogil:
        for i in range(before.shape[0]):
            allowed = latest_ps[after[i]] - margin_ps[i]
            if allowed < latest_ps[before[i]]:
                latest_ps[before[i]] = allowed


def way_back(
    before: cython.const[cython.longlong][::1], last: cython.Py_ssize_t, way: cython.longlong[::1]
) -> cython.Py_ssize_t:
    """Write ``last``, what comes before it, and so on until -1; returns how many there are."""
    at: cython.longlong = last
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        while at >= 0 and count < way.shape[0]:
            way[count] = at
            count += 1
            at = before[at]
    return count
