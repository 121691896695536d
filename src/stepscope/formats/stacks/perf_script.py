"""What ``perf script`` prints: a line for each sample, and its stack below, innermost first."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.formats.format import Input
from stepscope.formats.stacks import PERF_FRAME, PERF_HEAD
from stepscope.formats.stacks.collapsed import lines_of
from stepscope.formats.stacks.samples import (
    ROOT,
    SampledThread,
    StackFrame,
    Stacks,
    durations,
    to_space,
    within_reach,
)

TITLE: Final = "perf script output"
_LACKS: Final = (
    "Imported from perf script's output. Times are of the machine's clock since it started: when "
    "it was recorded is not in the file."
)
_FRAME: Final = re.compile(r"\s+[0-9a-f]+ (?P<symbol>.*?)(?: \((?P<library>[^()]*)\))?")
_LONGEST_LINE: Final = 1 << 16
_OFFSET: Final = re.compile(r"\+0x[0-9a-f]+$")
# With -X perf Python's own frames: "py::step:/home/me/train.py".
_PYTHON: Final = re.compile(r"py::(?P<name>[^:]+):(?P<file>.*)")


def open_file(pieces: Input, *, file: str) -> Space:
    """The samples of all threads; raises ``FormatError`` where there are none."""
    stacks = Stacks(TITLE, _LACKS)
    threads: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
    known: dict[str, int] = {}
    into: tuple[list[int], list[int]] | None = None
    frames: list[int] = []
    unknown = 0

    def end() -> None:
        if into is not None:
            into[1].append(stacks.tree.stack(frames[::-1]) if frames else ROOT)
        frames.clear()

    for text in lines_of(pieces):
        line = text[:_LONGEST_LINE].rstrip()
        if not line or line.startswith("#"):
            continue
        found = None if line[0] in " \t" else PERF_HEAD.search(line)
        if found is not None:
            end()
            name = line[: found.start()].strip()
            into = threads.setdefault((int(found["thread"]), name), ([], []))
            into[0].append(int(found["whole"]) * 10**9 + int(found["part"].ljust(9, "0")))
        elif into is not None and PERF_FRAME.match(line):
            if line not in known:
                known[line] = stacks.code(_frame(line))
            frames.append(known[line])
        else:
            unknown += 1
    end()
    if unknown:
        stacks.warnings.append(f"{unknown:,} lines are not samples and are left out.")
    for (number, name), (times, nodes) in threads.items():
        order = np.argsort(np.asarray(times), kind="stable")
        start = within_reach(np.asarray(times, np.int64)[order])
        stack = np.asarray(nodes, np.int64)[order]
        stacks.threads.append(SampledThread(number, name, start, durations(start, 0), stack))
    return to_space(stacks, file=file)


def _frame(line: str) -> StackFrame:
    found = _FRAME.fullmatch(line)
    symbol = _OFFSET.sub("", found["symbol"]) if found else line.strip()
    python = _PYTHON.fullmatch(symbol)
    if python is not None:
        return StackFrame(python["name"], python["file"])
    library = (found["library"] or "") if found else ""
    is_unknown = symbol in ("", "[unknown]")
    return StackFrame(library.rpartition("/")[2] or "[unknown]" if is_unknown else symbol, library)
