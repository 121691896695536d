"""``stepscope.client``: record programs that run elsewhere.

``trace`` and ``monitor`` have the shape of ``tf.profiler.experimental.client``. They speak to
``stepscope.server``, to ``tf.profiler.experimental.server`` and to ``jax.profiler.start_server``.
"""

from __future__ import annotations

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.rpc.client.address import parse_addresses
from stepscope.capture.rpc.client.channel import Channel
from stepscope.capture.rpc.client.gather import Gathering, Report
from stepscope.capture.rpc.client.outcome import Progress, RemoteCapture, WorkerOutcome
from stepscope.capture.rpc.client.request import CaptureRequest
from stepscope.capture.rpc.protocol.messages import MonitorRequest
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.errors import CaptureError

__all__ = ["Progress", "RemoteCapture", "WorkerOutcome", "monitor", "trace"]

_ANSWER_S = 30.0


def trace(
    service_addr: str,
    logdir: str,
    duration_ms: float | None = None,
    worker_list: str = "",
    num_tracing_attempts: int = 3,
    options: ProfilerOptions | None = None,
    *,
    steps: int | None = None,
    answer_s: float | None = None,
    report: Report | None = None,
) -> RemoteCapture:
    """Record one or more running programs into a new run of a log directory.

    All workers begin at the same time. A worker that cannot be reached, is busy, fails or does not
    answer costs its own recording only; the result has the outcome of each.

    Args:
        service_addr: ``host:port`` of the workers, separated by commas.
        logdir: Folder or URL; the files go to ``plugins/profile/<run>/`` below it.
        duration_ms: How long to record; with ``steps``, at most.
        worker_list: More workers, in the same form.
        num_tracing_attempts: How often to ask a worker that is busy or silent.
        options: What to record.
        steps: End after this many steps, where the program marks steps for our server.
        answer_s: How long to wait for an answer after the recording (None: as long as the
            recording took, a minute at least).
        report: Called ten times a second with where each worker is.

    Raises:
        CaptureError: No worker gave a recording; the message has the reason of each.
        UsageError: An address or a number that means nothing.
    """
    request = CaptureRequest(
        parse_addresses(",".join(part for part in (service_addr, worker_list) if part)),
        logdir,
        duration_ms=duration_ms,
        steps=steps,
        options=options or ProfilerOptions(),
        attempts=num_tracing_attempts,
        answer_s=answer_s,
    )
    capture = Gathering(request).run(report)
    if not capture.recorded:
        raise nothing_recorded(capture)
    return capture


def nothing_recorded(capture: RemoteCapture) -> CaptureError:
    """The error for when no worker returned a recording."""
    reasons = "; ".join(f"{each.address}: {each.error or 'no event'}" for each in capture.lost)
    hints = list(dict.fromkeys(each.hint for each in capture.lost if each.hint))
    return CaptureError(
        "No worker returned a recording.",
        where=", ".join(each.address for each in capture.lost),
        why=reasons,
        hint=" ".join(hints) or "Record again.",
        slug="nothing-recorded",
    )


def monitor(service_addr: str, duration_ms: float = 1000, level: int = 1) -> str:
    """Monitor a running program without recording it; returns text for a person.

    Our server answers for every program, with processor time, memory, steps a second and who
    records; TensorFlow's and JAX's answer on TPUs only.

    Args:
        service_addr: ``host:port`` of one worker.
        duration_ms: How long to look.
        level: How much to say, to servers that make a difference.

    Raises:
        CaptureError: The worker cannot be reached or does not support this.
        UsageError: The address means nothing.
    """
    (address, *more) = parse_addresses(service_addr)
    texts = []
    for each in (address, *more):
        channel = Channel(each)
        try:
            channel.connect(5.0)
            request = MonitorRequest(round(duration_ms), level, timestamp=True)
            texts.append(channel.monitor(request, duration_ms / 1e3 + _ANSWER_S))
        except CallFailed as failed:
            raise _no_look(str(each), failed) from failed
        finally:
            channel.close()
    return "\n".join(texts)


def _no_look(address: str, failed: CallFailed) -> CaptureError:
    if failed.code is Code.UNIMPLEMENTED:
        return CaptureError(
            "This server does not support monitoring.",
            where=address,
            why="TensorFlow's and JAX's servers support it on TPUs only.",
            hint="Start stepscope.server in the program, or record it: stepscope capture.",
            slug="no-monitor",
        )
    return CaptureError(
        "The program could not be monitored.",
        where=address,
        why=failed.message,
        hint="Is the program running, and is this the port of its profiler server?",
        slug="worker-unreachable",
    )
