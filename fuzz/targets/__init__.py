"""What is fuzzed: each module has seeds, and tries one input."""

from __future__ import annotations

from fuzz.target import Target
from fuzz.targets.decoder import TARGET as DECODER
from fuzz.targets.differential import TARGET as DIFFERENTIAL
from fuzz.targets.http import TARGET as HTTP
from fuzz.targets.imports import TARGET as IMPORTS
from fuzz.targets.kineto import TARGET as KINETO
from fuzz.targets.programs import TARGET as PROGRAMS
from fuzz.targets.recordings import TARGET as RECORDINGS
from fuzz.targets.rpc import TARGET as RPC
from fuzz.targets.scanner import TARGET as SCANNER
from fuzz.targets.tools import TARGET as TOOLS

TARGETS: tuple[Target, ...] = (
    DECODER,
    DIFFERENTIAL,
    KINETO,
    SCANNER,
    IMPORTS,
    RPC,
    HTTP,
    PROGRAMS,
    RECORDINGS,
    TOOLS,
)
