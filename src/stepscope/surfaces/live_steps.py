"""The steps of running programs, read from their step logs as these grow.

A terminal, Prometheus and OTLP receivers get the same quantities.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from stepscope.errors import StepscopeError
from stepscope.formats.step_log import Chunk, chunk_of
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.steps.change_points import ChangeDetector, StepTimeChange

if TYPE_CHECKING:
    from prometheus_client.core import Metric

ENDING: Final = ".steps"
#: Figures called recent are of the last minute.
RECENT_S: Final = 60.0
_US_PER_S: Final = 1e6
_NS_PER_S: Final = 1e9
_PIECE_BYTES: Final = 1 << 20
# Each process is a row on every surface: a file that names more is no log of a job.
_MOST_PROCESSES: Final = 10_000
# A rank is slow, and a wait is named, from this share of the others' step on.
_SLOW_FRAC: Final = 0.05
# A process that ends no step for this many steps' time, and seconds, stands still.
_STILL_STEPS, _STILL_S = 10, 10.0


@dataclass(slots=True)
class LiveProcess:
    """One process of a job so far.

    Attributes:
        host, rank, process: Who it is; "" where the log does not say.
        steps: Steps that ended.
        step_s, input_wait_s: Their sum, and that of their waits for input.
        memory_bytes: Resident memory, as of the newest chunk.
        values: The newest mean of each value of the program.
        change: The last lasting change of its step time, if any.
    """

    host: str
    rank: str
    process: str
    steps: int = 0
    step_s: float = 0.0
    input_wait_s: float = 0.0
    memory_bytes: int = 0
    values: dict[str, float] = field(default_factory=dict)
    change: StepTimeChange | None = None
    _detector: ChangeDetector = field(default_factory=ChangeDetector)
    # End, steps, and sum, longest and wait in µs, of each of the last rows.
    _recent: deque[tuple[int, int, int, int, int]] = field(default_factory=deque)

    @property
    def name(self) -> str:
        """Rank, else host and process."""
        return f"rank {self.rank}" if self.rank else f"{self.host} {self.process}"

    def add(self, chunk: Chunk) -> None:
        """Count the steps of a chunk."""
        columns = chunk.columns
        names_of_row = ("steps", "begin_us", "sum_us", "max_us", "wait_us")
        rows_of = zip(*(columns[name] for name in names_of_row), strict=True)
        for steps, begin, total, longest, wait in rows_of:
            self.steps += steps
            self.step_s += total / _US_PER_S
            self.input_wait_s += wait / _US_PER_S
            self.change = self._detector.add(total / max(steps, 1)) or self.change
            end_ns = chunk.begin_ns + (begin + total) * 1000
            self._recent.append((end_ns, steps, total, longest, wait))
        while self._recent and self._recent[0][0] < self.seen_ns - RECENT_S * _NS_PER_S:
            self._recent.popleft()
        self.memory_bytes = chunk.memory_bytes
        for name, rows in chunk.values.items():
            if rows and (name in self.values or len(self.values) < names.STEP_LOG_MOST_NAMES):
                self.values[name] = rows[max(rows)]

    @property
    def seen_ns(self) -> int:
        """When its last step ended, since 1970."""
        return self._recent[-1][0] if self._recent else 0

    @property
    def recent_step_s(self) -> float | None:
        """Mean step of its last minute."""
        return self._recent_mean(2)

    @property
    def recent_wait_s(self) -> float | None:
        """Mean wait for input, per step of its last minute."""
        return self._recent_mean(4)

    @property
    def recent_longest_s(self) -> float | None:
        """Longest step of its last minute."""
        return max((row[3] for row in self._recent), default=0) / _US_PER_S or None

    def _recent_mean(self, column: int) -> float | None:
        steps = sum(row[1] for row in self._recent)
        return sum(row[column] for row in self._recent) / steps / _US_PER_S if steps else None


class LiveSteps:
    """The step logs of a job.

    Args:
        path: A step log, or a folder with some (``*.steps``); more may appear.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tails: dict[Path, _Tail] = {}
        self._processes: dict[tuple[str, ...], LiveProcess] = {}
        self._lock = threading.Lock()

    def read(self) -> list[LiveProcess]:
        """Read what was appended since the last call; all processes, by rank."""
        with self._lock:
            for path in self._files():
                tail = self._tails.setdefault(path, _Tail(path))
                for line in tail.lines():
                    chunk = chunk_of(line)
                    if chunk is not None:
                        self._take(chunk)
            return sorted(self._processes.values(), key=_order)

    def _take(self, chunk: Chunk) -> None:
        known = self._processes.get(chunk.process)
        if known is None:
            if len(self._processes) >= _MOST_PROCESSES:
                return
            host, rank, process = chunk.process
            known = self._processes[chunk.process] = LiveProcess(host, rank, process)
        known.add(chunk)

    def _files(self) -> list[Path]:
        if self._path.is_dir():
            return sorted(self._path.glob(f"*{ENDING}"))
        return [self._path]


def _order(progress: LiveProcess) -> tuple[bool, int, str]:
    is_number = progress.rank.isdecimal() and progress.rank.isascii()
    return not is_number, int(progress.rank[:9]) if is_number else 0, progress.name


class _Tail:
    """The lines of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at, self._inode, self._rest = 0, 0, b""

    def lines(self) -> Iterator[bytes]:
        """Whole lines that are new; a file that was replaced is read from its begin."""
        try:
            # Not blocking: a name may be a pipe, which is no log.
            number = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            os.close(number)
            return
        with os.fdopen(number, "rb") as file:
            if status.st_ino != self._inode or status.st_size < self._at:
                self._at, self._inode, self._rest = 0, status.st_ino, b""
            file.seek(self._at)
            while piece := file.read(_PIECE_BYTES):
                self._at += len(piece)
                *whole, rest = (self._rest + piece).split(b"\n")
                # A line of ours is far shorter: of another only the begin is kept, which is wrong.
                self._rest = rest[:_PIECE_BYTES]
                yield from filter(None, whole)


# --------------------------------------------------------------------------------- quantities


@dataclass(frozen=True, slots=True)
class LiveMetric:
    """A number that every process has.

    Attributes:
        name: As Prometheus and OTLP know it.
        of: Its value; None: not known.
        is_sum: It only grows.
    """

    name: str
    unit: str
    meaning: str
    of: Callable[[LiveProcess], float | None]
    is_sum: bool = False


QUANTITIES: Final = (
    LiveMetric("stepscope_steps", "", "Steps that ended", lambda one: one.steps, is_sum=True),
    LiveMetric(
        "stepscope_step_seconds", "s", "Sum of all steps", lambda one: one.step_s, is_sum=True
    ),
    LiveMetric(
        "stepscope_input_wait_seconds",
        "s",
        "Sum of the waits for input",
        lambda one: one.input_wait_s,
        is_sum=True,
    ),
    LiveMetric(
        "stepscope_recent_step_seconds",
        "s",
        "Mean step of the last minute of steps",
        lambda one: one.recent_step_s,
    ),
    LiveMetric(
        "stepscope_recent_longest_step_seconds",
        "s",
        "Longest step of the last minute of steps",
        lambda one: one.recent_longest_s,
    ),
    LiveMetric(
        "stepscope_memory_bytes",
        "By",
        "Resident memory of the process",
        lambda one: one.memory_bytes or None,
    ),
    LiveMetric(
        "stepscope_last_step_timestamp_seconds",
        "s",
        "When the last step ended, since 1970",
        lambda one: one.seen_ns / _NS_PER_S or None,
    ),
    LiveMetric(
        "stepscope_step_change_ratio",
        "",
        "Step time after the last lasting change, divided by that before it",
        lambda one: one.change.after / one.change.before if one.change else None,
    ),
)
_VALUE: Final = "stepscope_value"
_VALUE_MEANING: Final = "A value that the program noted, such as its loss"


_LABELS: Final = ("host", "rank", "process")


def labels(progress: LiveProcess) -> dict[str, str]:
    """Labels of a process, the same on every surface."""
    return {name: getattr(progress, name) for name in _LABELS}


# -------------------------------------------------------------------------------- the surfaces


def headline(processes: list[LiveProcess]) -> str:
    """The most urgent fact about a job, in one line."""
    known = [(one, step) for one in processes if (step := one.recent_step_s) is not None]
    if not known:
        return "No step log (*.steps) has a step yet."
    middle = median(step for _, step in known)
    by_age = sorted((one for one, _ in known), key=ago_s)
    latest, last = by_age[0], by_age[-1]
    patience_s = max(_STILL_S, _STILL_STEPS * middle)
    if ago_s(latest) > patience_s:
        return f"No process has ended a step for {ago_s(latest):.0f} s."
    if ago_s(last) > patience_s:
        return f"{last.name} has ended no step for {ago_s(last):.0f} s; others go on."
    slow, longest = max(known, key=lambda each: each[1])
    if len(known) > 1 and longest > (1 + _SLOW_FRAC) * middle:
        return f"{slow.name} takes {longest / middle:.2f} times the median of all."
    waits = [(one, one.recent_wait_s or 0.0) for one, _ in known]
    usual = median(wait for _, wait in waits)
    waiting, wait = max(waits, key=lambda each: each[1])
    if len(known) > 1 and wait - usual > _SLOW_FRAC * middle:
        return (
            f"{waiting.name} waits {wait * 1e3:.3g} ms of each step for input, the median "
            f"{usual * 1e3:.3g} ms."
        )
    changed = [one for one, _ in known if one.change is not None]
    if changed:
        newest = max(changed, key=lambda one: one.change.step if one.change else 0)
        assert newest.change is not None
        ratio = newest.change.after / newest.change.before - 1
        way = "slower" if ratio > 0 else "faster"
        return f"{newest.name} is {share_words(abs(ratio))} {way} than it was before."
    return "All processes take the same time." if len(known) > 1 else "The step time is steady."


class _Collector:
    """Answers each scrape of Prometheus."""

    def __init__(self, live: LiveSteps) -> None:
        self._live = live

    def collect(self) -> Iterable[Metric]:
        """Every quantity of every process."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        processes = self._live.read()
        for quantity in QUANTITIES:
            family = CounterMetricFamily if quantity.is_sum else GaugeMetricFamily
            metric = family(quantity.name, f"{quantity.meaning}.", labels=_LABELS)
            for one in processes:
                value = quantity.of(one)
                if value is not None:
                    metric.add_metric(list(labels(one).values()), value)
            yield metric
        metric = GaugeMetricFamily(_VALUE, f"{_VALUE_MEANING}.", labels=[*_LABELS, "name"])
        for one in processes:
            for name, value in one.values.items():
                metric.add_metric([*labels(one).values(), name], value)
        yield metric


def serve_prometheus(live: LiveSteps, host: str, port: int) -> tuple[str, Callable[[], None]]:
    """Serve ``/metrics``; its address, and a function that ends it.

    Args:
        live: The job.
        host: Address to listen on.
        port: Of that address; 0: a free one.

    Raises:
        StepscopeError: prometheus-client is not installed, or the port is taken.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise _missing("prometheus-client", "prometheus") from None
    registry = CollectorRegistry(auto_describe=False)
    # One that does not describe itself is not asked until the first scrape.
    registry.register(_Collector(live))
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise StepscopeError(
            "Prometheus' numbers cannot be served.",
            where=f"{host}:{port}",
            why=f"The system says: {error.strerror or error}.",
            hint="Choose another port.",
            slug="port-taken",
        ) from error

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return f"http://{host}:{server.server_port}/metrics", end


def push_otlp(live: LiveSteps, endpoint: str, every_s: float) -> Callable[[], None]:
    """Send the quantities to an OTLP receiver over HTTP now and then; a function that ends it.

    Raises:
        StepscopeError: OpenTelemetry's SDK and exporter are not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.metrics import CallbackOptions, Observation
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
    except ImportError:
        raise _missing("OpenTelemetry's SDK and OTLP exporter", "otlp") from None
    # As OTEL_EXPORTER_OTLP_ENDPOINT: of a receiver without a path, that of metrics.
    is_whole = urlsplit(endpoint).path not in ("", "/")
    url = endpoint if is_whole else f"{endpoint.rstrip('/')}/v1/metrics"
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(endpoint=url), export_interval_millis=every_s * 1e3
    )
    resource = Resource.create({"service.name": "stepscope"})
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("stepscope")

    def observe(quantity: LiveMetric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def callback(_: CallbackOptions) -> Iterable[Observation]:
            for one in live.read():
                value = quantity.of(one)
                if value is not None:
                    yield Observation(value, labels(one))

        return callback

    def observe_values(_: CallbackOptions) -> Iterable[Observation]:
        for one in live.read():
            for name, value in one.values.items():
                yield Observation(value, {**labels(one), "name": name})

    for quantity in QUANTITIES:
        make: Any = (
            meter.create_observable_counter if quantity.is_sum else meter.create_observable_gauge
        )
        make(quantity.name, [observe(quantity)], quantity.unit, quantity.meaning)
    meter.create_observable_gauge(_VALUE, [observe_values], "", _VALUE_MEANING)
    return provider.shutdown


def _missing(what: str, extra: str) -> StepscopeError:
    return StepscopeError(
        f"{what} is not installed.",
        hint=f"pip install 'stepscope[{extra}]'",
        slug="metrics-extra",
    )


def ago_s(progress: LiveProcess) -> float:
    """Seconds since its last step ended, by this machine's clock."""
    return max(time.time() - progress.seen_ns / _NS_PER_S, 0.0)
