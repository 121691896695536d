"""The messages of ``tensorflow.ProfilerService``, and of the two calls that are ours.

Field numbers are facts of ``profiler_service.proto`` and ``profiler_options.proto`` in XLA;
TensorFlow 2.21 and JAX 0.10 were spoken to. The package of a message is not on the wire.
"""

from __future__ import annotations

from typing import ClassVar

from stepscope.capture.rpc.protocol.codec import FieldCodec, Message
from stepscope.records import dataclass, field

SERVICE = "tensorflow.ProfilerService"
# Beside the framework's service, on the same port: what it does not tell. Others answer
# UNIMPLEMENTED, which is how the client learns that a server is not ours.
OWN_SERVICE = "stepscope.Capture"
# A server takes options of version 0 for none and puts its defaults in their place.
OPTIONS_VERSION = 1
# The name under which C++ clients expect the recording among the tools' data, and save it.
XPLANE_TOOL = "xplane.pb"


@dataclass(slots=True)
class ConfigValue(Message):
    """A value of ``advanced_configuration``: one of the three is set."""

    string_value: str = ""
    bool_value: bool = False
    int64_value: int = 0

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "string_value": FieldCodec(1, "text"),
        "bool_value": FieldCodec(2, "bool"),
        "int64_value": FieldCodec(3, "int"),
    }

    @classmethod
    def of(cls, value: str | bool | int) -> ConfigValue:
        """The message for a plain value."""
        if isinstance(value, bool):
            return cls(bool_value=value)
        return cls(int64_value=value) if isinstance(value, int) else cls(string_value=value)

    @property
    def plain(self) -> str | int | bool:
        """The value that is set; 0 for a number of 0 as for nothing."""
        return self.string_value or self.bool_value or self.int64_value


@dataclass(slots=True)
class TraceOptions(Message):
    """Which kinds of host annotations are kept; bit 0 of the mask is memory events."""

    host_traceme_filter_mask: int = 0

    FIELDS: ClassVar[dict[str, FieldCodec]] = {"host_traceme_filter_mask": FieldCodec(1, "uint")}


@dataclass(slots=True)
class ProfileOptions(Message):
    """What to record.

    ``duration_ms`` here is what a server obeys; the one of ``ProfileRequest`` is not read.
    ``device_type``: 0 any, 1 CPU, 2 GPU, 3 TPU, 4 pluggable.
    """

    version: int = 0
    device_type: int = 0
    include_dataset_ops: bool = False
    host_tracer_level: int = 0
    device_tracer_level: int = 0
    python_tracer_level: int = 0
    enable_hlo_proto: bool = False
    start_timestamp_ns: int = 0
    duration_ms: int = 0
    repository_path: str = ""
    trace_options: TraceOptions | None = None
    advanced_configuration: dict[str, ConfigValue] = field(default_factory=dict)
    raise_error_on_start_failure: bool = False
    session_id: str = ""
    override_hostname: str = ""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "include_dataset_ops": FieldCodec(1, "bool"),
        "host_tracer_level": FieldCodec(2, "uint"),
        "device_tracer_level": FieldCodec(3, "uint"),
        "python_tracer_level": FieldCodec(4, "uint"),
        "version": FieldCodec(5, "uint"),
        "device_type": FieldCodec(6, "uint"),
        "enable_hlo_proto": FieldCodec(7, "bool"),
        "start_timestamp_ns": FieldCodec(8, "uint"),
        "duration_ms": FieldCodec(9, "uint"),
        "repository_path": FieldCodec(10, "text"),
        "trace_options": FieldCodec(11, TraceOptions),
        "advanced_configuration": FieldCodec(12, ConfigValue, "map"),
        "raise_error_on_start_failure": FieldCodec(13, "bool"),
        "session_id": FieldCodec(14, "text"),
        "override_hostname": FieldCodec(15, "text"),
    }


@dataclass(slots=True)
class ProfileRequest(Message):
    """A request for a recording. With ``emit_xspace`` the answer carries it and nothing is saved.

    C++ clients leave ``emit_xspace`` unset and take the recording from ``tool_data``.
    """

    duration_ms: int = 0
    max_events: int = 0
    tools: list[str] = field(default_factory=list)
    opts: ProfileOptions | None = None
    repository_root: str = ""
    session_id: str = ""
    host_name: str = ""
    emit_xspace: bool = False

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "duration_ms": FieldCodec(1, "uint"),
        "max_events": FieldCodec(2, "uint"),
        "tools": FieldCodec(3, "text", "list"),
        "opts": FieldCodec(4, ProfileOptions),
        "repository_root": FieldCodec(5, "text"),
        "session_id": FieldCodec(6, "text"),
        "host_name": FieldCodec(7, "text"),
        "emit_xspace": FieldCodec(9, "bool"),
    }


@dataclass(slots=True)
class ToolData(Message):
    """One tool's data by its name."""

    name: str = ""
    data: bytes = b""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "name": FieldCodec(1, "text"),
        "data": FieldCodec(2, "bytes"),
    }


@dataclass(slots=True)
class ProfileResponse(Message):
    """A recording. ``xspace`` is a serialised XSpace, left as bytes."""

    tool_data: list[ToolData] = field(default_factory=list)
    empty_trace: bool = False
    xspace: bytes = b""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "tool_data": FieldCodec(6, ToolData, "list"),
        "empty_trace": FieldCodec(7, "bool"),
        "xspace": FieldCodec(8, "bytes"),
    }


@dataclass(slots=True)
class TerminateRequest(Message):
    """Ends the recording of this session early; what was recorded is answered."""

    session_id: str = ""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {"session_id": FieldCodec(1, "text")}


@dataclass(slots=True)
class MonitorRequest(Message):
    """A look at the program for ``duration_ms``."""

    duration_ms: int = 0
    monitoring_level: int = 0
    timestamp: bool = False

    FIELDS: ClassVar[dict[str, FieldCodec]] = {
        "duration_ms": FieldCodec(1, "uint"),
        "monitoring_level": FieldCodec(2, "uint"),
        "timestamp": FieldCodec(3, "bool"),
    }


@dataclass(slots=True)
class MonitorResponse(Message):
    """What was seen, as text for a person."""

    data: str = ""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {"data": FieldCodec(1, "text")}


@dataclass(slots=True)
class StateResponse(Message):
    """The answer of ``stepscope.Capture/State``, as JSON: what the server is and does now."""

    json: str = ""

    FIELDS: ClassVar[dict[str, FieldCodec]] = {"json": FieldCodec(1, "text")}


METHODS = (
    "Profile",
    "Terminate",
    "Monitor",
    "StartContinuousProfiling",
    "ContinuousProfiling",
    "StopContinuousProfiling",
    "GetSnapshot",
    "GetSnapShot",
)
OWN_METHODS = ("State",)
