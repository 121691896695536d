# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels over what waits for what: how late each may end, the longest way, steps played again."""

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


def replay(
    step: cython.const[cython.longlong][::1],
    waits_for: cython.const[cython.uchar][::1],
    length: cython.const[cython.longlong][::1],
    gap: cython.const[cython.longlong][:, ::1],
    gone: cython.const[cython.longlong][:, ::1],
    slack: cython.const[cython.longlong][::1],
    clocks: cython.longlong[::1],
    saved: cython.longlong[::1],
) -> None:
    """Write how much earlier each step ends.

    Three clocks run ahead of the recording: the loop's thread, the work beside it, the making of
    its input. Work begins when the thread has asked for it and what it queues behind is done, so
    its lead is at most the thread's, and at most its old one and the pause before it. The thread
    goes on when what it waits for is there, so its lead is at most that of the work. At the end of
    a step it is not further ahead of the work than it was.

    Args:
        step: Of each moment, ascending.
        waits_for: 0 the thread runs, 1 it waits for work, 2 it waits for input.
        length: Of each moment.
        gap: By work and input: the pause before what begins in a moment; -1 nothing begins.
        gone: By thread, work and input: what each has less to do in a moment.
        slack: Of each step, how long before its end the work was done; -1 there was none.
        clocks: Leads of the thread, the work and the input, before and then after these moments:
            the steps may come in parts, each of whole steps.
        saved: Of each step, the lead of the thread when it ends.
    """
    i: cython.Py_ssize_t
    thread: cython.longlong = clocks[0]
    work: cython.longlong = clocks[1]
    made: cython.longlong = clocks[2]
    with cython.nogil:
        for i in range(step.shape[0]):
            if gap[0, i] >= 0:
                work = min(thread, work + gap[0, i])
            if gap[1, i] >= 0:
                made = min(thread, made + gap[1, i])
            work += gone[1, i]
            made += gone[2, i]
            if waits_for[i] == 1:
                thread = min(thread + length[i], work)
            elif waits_for[i] == 2:
                thread = min(thread + length[i], made)
            else:
                thread += gone[0, i]
            if i + 1 == step.shape[0] or step[i + 1] != step[i]:
                if slack[step[i]] >= 0:
                    thread = min(thread, work + slack[step[i]])
                saved[step[i]] = thread
    clocks[0] = thread
    clocks[1] = work
    clocks[2] = made
