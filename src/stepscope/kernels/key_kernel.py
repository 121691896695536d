# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, freethreading_compatible=True
"""Kernels over events and stats by key: which are wanted, what they sum to, what is a row's."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from stepscope.kernels import cython_shadow as cython


def is_compiled() -> bool:
    """Whether this module runs as machine code."""
    return bool(cython.compiled)


def count_wanted(
    key: cython.const[cython.int][::1], wanted: cython.const[cython.uchar][::1]
) -> cython.Py_ssize_t:
    """How many keys are wanted; ``wanted`` has a flag per key, and keys beyond it are not."""
    i: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(key.shape[0]):
            if 0 <= key[i] < wanted.shape[0] and wanted[key[i]] != 0:
                found += 1
    return found


def collect_wanted(
    key: cython.const[cython.int][::1],
    wanted: cython.const[cython.uchar][::1],
    rows: cython.longlong[::1],
) -> None:
    """Write where the wanted keys stand; ``rows`` has room for as many as there are."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(key.shape[0]):
            if 0 <= key[i] < wanted.shape[0] and wanted[key[i]] != 0:
                rows[place] = i
                place += 1


def add_by_key(
    key: cython.const[cython.int][::1],
    value: cython.const[cython.longlong][::1],
    total: cython.longlong[::1],
) -> cython.bint:
    """Add each value to the total of its key; False when a key has no total."""
    i: cython.Py_ssize_t
    known: cython.bint = True
    with cython.nogil:
        for i in range(key.shape[0]):
            if 0 <= key[i] < total.shape[0]:
                total[key[i]] += value[i]
            else:
                known = False
    return known


def find_first(key: cython.const[cython.longlong][::1], first: cython.longlong[::1]) -> None:
    """Write to ``first`` where each key stands first.

    It has a place for every key, and is -1 in all of them at the beginning.
    """
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(key.shape[0]):
            if first[key[i]] < 0:
                first[key[i]] = i


def look_up(
    rows: cython.const[cython.longlong][::1],
    values: cython.const[cython.longlong][::1],
    wanted: cython.const[cython.longlong][::1],
    found: cython.longlong[::1],
) -> None:
    """Write to ``found`` the value of each wanted row that is among ``rows``, which ascend.

    Wanted rows that ascend, too, cost one walk along both; after one that does not the walk begins
    again. Of equal rows the first counts.
    """
    count: cython.Py_ssize_t = rows.shape[0]
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    stride: cython.Py_ssize_t
    with cython.nogil:
        for i in range(wanted.shape[0]):
            if at > 0 and rows[at - 1] >= wanted[i]:
                at = 0
            # In growing strides past what is smaller, then by halves within the last of them.
            low = at
            high = at
            stride = 1
            while high < count and rows[high] < wanted[i]:
                low = high + 1
                high += stride
                stride *= 2
            if high > count:
                high = count
            while low < high:
                middle = (low + high) // 2
                if rows[middle] < wanted[i]:
                    low = middle + 1
                else:
                    high = middle
            at = low
            if at < count and rows[at] == wanted[i]:
                found[i] = values[at]


def sum_labels(
    label: cython.const[cython.int][::1],
    total_ps: cython.const[cython.longlong][::1],
    self_ps: cython.const[cython.longlong][::1],
    count: cython.longlong[::1],
    total: cython.longlong[::1],
    own: cython.longlong[::1],
    longest: cython.longlong[::1],
) -> cython.bint:
    """Per label how many events, Σ of both times, and the first of the longest (-1 for none).

    False when there is a label beyond the sums.
    """
    i: cython.Py_ssize_t
    at: cython.int
    known: cython.bint = True
    with cython.nogil:
        for i in range(label.shape[0]):
            at = label[i]
            if not 0 <= at < count.shape[0]:
                known = False
                continue
            count[at] += 1
            total[at] += total_ps[i]
            own[at] += self_ps[i]
            if longest[at] < 0 or total_ps[i] > total_ps[longest[at]]:
                longest[at] = i
    return known


def count_stats(
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


def collect_stats(
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
