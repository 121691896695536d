"""What is read of a trace: columns in order of time, of every kind of event."""

from __future__ import annotations

from typing import Any, Final

from numpy.typing import NDArray

from stepscope.formats.kineto.reading.args import EventArgs
from stepscope.formats.kineto.reading.scan import TraceDamage
from stepscope.formats.kineto.reading.texts import TraceTexts
from stepscope.records import dataclass, field

#: A process and a thread, or a device and a stream, as the file names them.
ThreadKey = tuple[Any, Any]

_PLANES: Final = ("/device:", "/host:")
# Processes of TensorFlow 1's timelines are devices, and no planes.
_OF_SESSION: Final = (" Compute", " Tensors")


@dataclass
class Trace:
    """A recording as columns.

    Attributes:
        head: The keys beside the events (``deviceProperties``, versions …).
        names: Event names; ``slices["name"]`` counts them.
        places: (pid, tid) pairs; ``slices["place"]`` counts them.
        slices: name, place, kind (of ``categories.KINDS``), category (of ``categories``),
            start_ns, duration_ns (absolute; what they leave of a ps is start_rest_ps and
            duration_rest_ps), external, correlation (-1: none). In order of time, containers
            before their contents.
        args: Arguments of the slices.
        memory: place, start_ns, address, bytes (negative: freed), allocated (-1: not said),
            device, device_type.
        flows: place, start_ns, id, is_end of forward-backward arrows.
        counters: place, name, start_ns, and a series and value each.
        thread_names, process_names: By place, and by pid.
        tracks: By place, the line of which a thread is only a part, as our exports say it.
        categories: Every category with the number of its events, arrows among them.
        texts: Every distinct text of the file.
        damage: What was wrong with it.
        lost: Events that made no sense: not JSON, or without name, phase or time.
        untimed: Events whose time the recorder did not take.
        negative: Events that end before they begin.
        unpaired: Begins without an end, and ends without a begin; they are left out.
        unshown: How many events there are of each phase that has no place here.
    """

    head: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    places: list[ThreadKey] = field(default_factory=list)
    slices: dict[str, NDArray[Any]] = field(default_factory=dict)
    args: EventArgs = field(init=False)
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)
    flows: dict[str, NDArray[Any]] = field(default_factory=dict)
    counters: dict[str, NDArray[Any]] = field(default_factory=dict)
    thread_names: dict[ThreadKey, str] = field(default_factory=dict)
    process_names: dict[Any, str] = field(default_factory=dict)
    tracks: dict[ThreadKey, str] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    category_names: list[str] = field(default_factory=list)
    texts: TraceTexts = field(init=False)
    damage: TraceDamage = field(default_factory=TraceDamage)
    lost: int = 0
    untimed: int = 0
    negative: int = 0
    unpaired: int = 0
    unshown: dict[str, int] = field(default_factory=dict)

    @property
    def has_planes(self) -> bool:
        """Whether processes are called like planes: a viewer derived the trace from an XSpace."""
        listed = self.process_names.values()
        return any(one.startswith(_PLANES) and not one.endswith(_OF_SESSION) for one in listed)
