"""rocprofv3's CSV files, one for each domain: what there is where nothing else was kept."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.launched import LaunchedRecording, to_space
from stepscope.formats.launched.recorded import I64, NONE
from stepscope.formats.rocprof.work import (
    DIMS,
    LACKS,
    Agent,
    RocmKernel,
    add_calls,
    add_copies,
    add_dispatches,
)
from stepscope.limits import current

if TYPE_CHECKING:
    import polars as pl

TITLE: Final = "rocprofv3 CSV"
_TIMES: Final = ("Start_Timestamp", "End_Timestamp")
_DIMS: Final = {one: one.title() for one in DIMS}
_NUMBERS: Final = (
    *_TIMES, *_DIMS.values(), "Agent_Id", "Source_Agent_Id", "Destination_Agent_Id", "Queue_Id",
    "Stream_Id", "Correlation_Id", "Dispatch_Id", "Process_Id", "Thread_Id", "VGPR_Count",
    "Accum_VGPR_Count", "SGPR_Count", "Scratch_Size", "Private_Segment_Size", "LDS_Block_Size",
    "Group_Segment_Size",
)  # fmt: skip
# "Agent 2": the number alone.
_NUMBER: Final = r"(\d{1,18})\s*$"


def open_csv(pieces: Input, *, file: str) -> Space:
    """The recording in a file of one domain.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is no such file, or one without events.
    """
    import polars as pl

    recorded = LaunchedRecording(TITLE)
    data = b"".join(pieces)
    # A line without cells has all of them in memory.
    columns = data.partition(b"\n")[0].count(b",") + 1
    current().spend("objects", columns * (data.count(b"\n") + 1))
    try:
        # Cells as texts: an unusual one costs its own row, not the file.
        with warnings.catch_warnings(record=True) as odd:
            warnings.simplefilter("always")
            table = pl.read_csv(
                io.BytesIO(data),
                infer_schema=False,
                truncate_ragged_lines=True,
                ignore_errors=True,
                encoding="utf8-lossy",
            )
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise FormatError(TITLE, f"it is not a table: {error}", file=file) from error
    if odd:
        recorded.warnings.append("The table is broken in places: rows may be missing.")
    _Rows(table, recorded).read()
    recorded.origin = (
        f"Imported from a CSV file of rocprofv3, which has one of several domains. {LACKS}"
    )
    return to_space(recorded, file=file)


class _Rows:
    """Reads the rows of a file, whatever its domain."""

    def __init__(self, table: pl.DataFrame, recorded: LaunchedRecording) -> None:
        self._recorded = recorded
        self._table = table
        self._columns = _whole_numbers(table)
        start, end = (self._numbers(one) for one in _TIMES)
        kept = (start > 0) & (end > 0)
        if not kept.all():
            recorded.warnings.append(
                f"{int((~kept).sum()):,} rows have no time; they are left out."
            )
            self._table = table.filter(kept)
            self._columns = {name: one[kept] for name, one in self._columns.items()}
        self._times = dict(zip(("start", "end"), map(self._numbers, _TIMES), strict=True))

    def read(self) -> None:
        """All rows."""
        for column, read in (
            ("Kernel_Name", self._dispatches),
            ("Direction", self._copies),
            ("Function", self._calls),
        ):
            if column in self._table.columns:
                read()
                return

    def _numbers(self, *names: str) -> I64:
        """A column of whole numbers, under the first of these names that there is."""
        found = next((one for one in names if one in self._columns), None)
        return (
            np.full(self._table.height, NONE, np.int64) if found is None else self._columns[found]
        )

    def _texts(self, name: str) -> list[str]:
        return [one or "" for one in self._table[name].to_list()]

    def _codes(self, name: str) -> I64:
        return self._recorded.texts.codes(self._texts(name))

    def _agents(self, *columns: I64) -> dict[int, Agent]:
        """Agents by the number in the file; GPUs are numbered in its order."""
        used = np.unique(np.concatenate(columns)).tolist() if columns else []
        return {one: Agent("GPU", at) for at, one in enumerate(one for one in used if one >= 0)}

    def _dispatches(self) -> None:
        agent = self._numbers("Agent_Id")
        name = self._codes("Kernel_Name")
        vector, accumulation, scalar = (
            self._numbers(*one) for one in (("VGPR_Count",), ("Accum_VGPR_Count",), ("SGPR_Count",))
        )
        used, kernel = np.unique(
            np.stack([name, vector, accumulation, scalar]), axis=1, return_inverse=True
        )
        texts = self._recorded.texts.list
        kernels = {
            at: RocmKernel(texts[code], *registers)
            for at, (code, *registers) in enumerate(used.T.tolist())
        }
        columns = {
            **self._times,
            "agent": agent,
            "kernel": kernel.ravel().astype(np.int64),
            "queue": self._numbers("Queue_Id"),
            "stream": self._numbers("Stream_Id"),
            "launch": self._numbers("Correlation_Id"),
            "dispatch_id": self._numbers("Dispatch_Id"),
            "private": self._numbers("Scratch_Size", "Private_Segment_Size"),
            "group": self._numbers("LDS_Block_Size", "Group_Segment_Size"),
        }
        columns |= {name: self._numbers(title) for name, title in _DIMS.items()}
        add_dispatches(self._recorded, columns, self._agents(agent), kernels, 0)

    def _copies(self) -> None:
        source, target = self._numbers("Source_Agent_Id"), self._numbers("Destination_Agent_Id")
        direction = self._texts("Direction")
        agents: dict[int, Agent] = {}
        for ends, one in zip(
            zip(source.tolist(), target.tolist(), strict=True), direction, strict=True
        ):
            kinds = ("HOST" if "HOST_TO" in one else "GPU", "HOST" if "TO_HOST" in one else "GPU")
            for agent, kind in zip(ends, kinds, strict=True):
                agents.setdefault(agent, Agent("CPU" if kind == "HOST" else "GPU", agent))
        gpus = sorted(key for key, one in agents.items() if one.kind == "GPU")
        agents |= {key: Agent("GPU", at) for at, key in enumerate(gpus)}
        columns = {
            **self._times,
            "source": source,
            "target": target,
            "size": np.full(len(source), NONE, np.int64),
            "queue": np.full(len(source), NONE, np.int64),
            "stream": self._numbers("Stream_Id"),
            "launch": self._numbers("Correlation_Id"),
        }
        add_copies(self._recorded, columns, agents, 0)

    def _calls(self) -> None:
        columns = {
            **self._times,
            "thread": self._numbers("Thread_Id"),
            "launch": self._numbers("Correlation_Id"),
        }
        domain = self._table["Domain"].fill_null("") if "Domain" in self._table.columns else None
        is_marker = (
            np.zeros(self._table.height, bool)
            if domain is None
            else domain.str.contains("MARKER", literal=True).to_numpy()
        )
        process = self._numbers("Process_Id")
        pid = int(process[0]) if len(process) else 0
        name = self._codes("Function")
        for wanted, is_range in ((~is_marker, False), (is_marker, True)):
            some = {key: column[wanted] for key, column in columns.items()}
            add_calls(self._recorded, name[wanted], some, 0, max(pid, 0), is_range=is_range)


def _whole_numbers(table: pl.DataFrame) -> dict[str, I64]:
    """The columns of whole numbers that a table has: all at once, as each query has its price."""
    import polars as pl

    some = [name for name in _NUMBERS if name in table.columns]
    digits = pl.col(some).str.extract(_NUMBER)
    found = table.select(digits.cast(pl.Int64, strict=False).fill_null(NONE))
    return {name: found[name].to_numpy() for name in some}
