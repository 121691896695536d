"""A request's options as those of the recording session."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.rpc.protocol.messages import ConfigValue, ProfileOptions, ProfileRequest
from stepscope.errors import UsageError
from stepscope.records import dataclass

# Keys of ``advanced_configuration`` that are ours: this and the name of one of our options.
OWN_PREFIX = "stepscope_"
STEPS_KEY = OWN_PREFIX + "steps"

# C++ clients send this many whatever the person asked for, and their servers do not read it.
_CUSTOMARY_MAX_EVENTS = 1_000_000
# Of the time until the client gives up, this share (and at least this much) is for the answer.
_RESERVE_SHARE = 0.2
_RESERVE_S = 1.0
# An export without a client's deadline may take this long.
_LONGEST_STOP_S = 600.0
# A longer recording is written in pieces, so that little is lost and memory stays bounded.
_WHOLE_UP_TO_S = 30.0
# Without a duration, recording by steps ends after this long.
_STEPS_WITHIN_S = 60.0
# Continuous profiling ends by itself when nobody takes a snapshot any more.
_CONTINUOUS_S = 3600.0
_CONTINUOUS_BYTES = 2_000_000_000
# The session's own budget, in case the thread that answers dies.
_SLACK_S = 5.0

_DEFAULTS = ProfileOptions(
    version=1, host_tracer_level=2, device_tracer_level=1, enable_hlo_proto=True
)


@dataclass(frozen=True)
class RecordingPlan:
    """A recording as it will be.

    Attributes:
        options: Of the session.
        start_ns: Wall clock at which to begin; in the past: at once.
        seconds: How long, at most.
        steps: End after this many steps; None: after ``seconds``.
        is_open: Whether no duration was asked for, so that steps alone end it.
        options_session: The session's id where only the options carry it.
    """

    options: ProfilerOptions
    start_ns: int
    seconds: float
    steps: int | None
    is_open: bool
    options_session: str

    @classmethod
    def of(cls, request: ProfileRequest, remaining_s: float | None) -> RecordingPlan:
        """The plan for a request, shortened so that the answer arrives in ``remaining_s``.

        Raises:
            UsageError: An option has a value that means nothing.
        """
        asked = request.opts or ProfileOptions()
        levels = asked if asked.version else _DEFAULTS
        own = {
            key.removeprefix(OWN_PREFIX): value.plain
            for key, value in asked.advanced_configuration.items()
            if key.startswith(OWN_PREFIX)
        }
        steps = _steps(own.pop("steps", None))
        seconds = (asked.duration_ms or request.duration_ms) / 1e3
        is_open = steps is not None and seconds == 0
        if is_open:
            seconds = _STEPS_WITHIN_S
        stop_s = _LONGEST_STOP_S
        if remaining_s is not None:
            reserve_s = max(_RESERVE_S, _RESERVE_SHARE * remaining_s)
            seconds = min(seconds, remaining_s - reserve_s)
            left_s = remaining_s - max(seconds, 0.0) - _RESERVE_S / 2
            stop_s = min(max(left_s, _RESERVE_S / 2), _LONGEST_STOP_S)
        seconds = max(seconds, 0.0)
        mask = asked.trace_options.host_traceme_filter_mask if asked.trace_options else 1
        values: dict[str, Any] = {
            "host_tracer_level": levels.host_tracer_level,
            "python_tracer_level": levels.python_tracer_level,
            "device_tracer_level": levels.device_tracer_level,
            "include_hlo": levels.enable_hlo_proto,
            "memory": bool(mask & 1),
            "max_seconds": seconds + _SLACK_S,
            "stop_seconds": stop_s,
            "max_events": _max_events(request.max_events),
            "chunk_seconds": None if seconds <= _WHOLE_UP_TO_S else 5.0,
            **{name: _typed(name, value) for name, value in own.items()},
        }
        return cls(
            ProfilerOptions(**values),
            asked.start_timestamp_ns,
            seconds,
            steps,
            is_open,
            asked.session_id,
        )

    @property
    def continuous_options(self) -> ProfilerOptions:
        """The options for a recording that ends only on request."""
        return dataclasses.replace(
            self.options,
            max_seconds=_CONTINUOUS_S,
            max_bytes=_CONTINUOUS_BYTES,
            chunk_seconds=5.0,
        )


def own_configuration(options: ProfilerOptions, steps: int | None) -> dict[str, ConfigValue]:
    """Our options that the framework's message has no field for, where they are not default."""
    default = ProfilerOptions()
    found: dict[str, ConfigValue] = {}
    for each in dataclasses.fields(ProfilerOptions):
        value = getattr(options, each.name)
        if each.name in _IN_MESSAGE or value == getattr(default, each.name):
            continue
        plain = ",".join(value) if isinstance(value, tuple) else value
        text = plain if isinstance(plain, bool | int) and plain else str(plain)
        found[OWN_PREFIX + each.name] = ConfigValue.of(text)
    if steps is not None:
        found[STEPS_KEY] = ConfigValue.of(steps)
    return found


# Sent in fields of the framework's own, or of the client alone.
_IN_MESSAGE = (
    "host_tracer_level",
    "python_tracer_level",
    "device_tracer_level",
    "delay_ms",
    "include_hlo",
)


def _steps(value: str | int | bool | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(
            f"The number of steps cannot be {value!r}.",
            where=STEPS_KEY,
            hint="Give a whole number from 1.",
            slug="capture-option",
        )
    return value


def _max_events(asked: int) -> int | None:
    return asked if asked not in (0, _CUSTOMARY_MAX_EVENTS) else None


def _typed(name: str, value: str | int | bool) -> Any:
    """A value of the configuration as the type our option has."""
    hints = get_type_hints(ProfilerOptions)
    if name not in hints:
        raise UsageError(
            f"There is no option {name!r}.",
            where=f"advanced_configuration[{OWN_PREFIX}{name}]",
            hint=f"One of {', '.join(hints)}.",
            slug="capture-option",
        )
    kind = str(hints[name])
    if "tuple" in kind:
        return tuple(part for part in str(value).split(",") if part)
    if value == "None":
        return None
    try:
        if "bool" in kind:
            return {"True": True, "False": False, "0": False, "1": True}[str(value)]
        return int(value) if "int" in kind else float(value)
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"The option {name} cannot be {value!r}.",
            where=f"advanced_configuration[{OWN_PREFIX}{name}]",
            hint="See stepscope.ProfilerOptions.",
            slug="capture-option",
        ) from error
