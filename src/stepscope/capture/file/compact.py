"""A recording of several chunks as one: each plane once, so that every viewer reads all of it.

Giving the events of several planes one set of ids needs the decoder. ``stepscope repair`` does it
in a separate process, so that it takes neither memory nor time from the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.capture.file.verify import LARGEST_MESSAGE_BYTES, whole_bytes
from stepscope.capture.file.writer import Writer
from stepscope.capture.recorder import Note

#: Variables that make a process record itself: not those that do our work.
RECORD_VARIABLE: Final = "STEPSCOPE_RECORD"
_DONE: Final = 0


def compact(writer: Writer, seconds: float, children: Sequence[Path] = ()) -> list[Note]:
    """Rewrite the file with one plane per name; a failure leaves it as it was and is noted.

    Args:
        writer: The recording's file.
        seconds: How long this may take.
        children: Files to merge into it; they are removed afterwards.
    """
    if writer.size > LARGEST_MESSAGE_BYTES:
        return [
            _left("it is larger than 2 GiB, the most one message may hold"),
            *_joined(writer, children),
        ]
    if not sys.executable:
        return [_left("this program has no Python interpreter to do it")]
    command = [sys.executable, "-m", "stepscope", "repair", str(writer.path)]
    command += [word for child in children for word in ("--with", str(child))]
    try:
        done = subprocess.run(
            command, capture_output=True, env=child_environment(), timeout=seconds, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [_left(str(error))]
    if done.returncode != _DONE:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        return [_left(reason or f"exit code {done.returncode}")]
    writer.size = writer.path.stat().st_size
    return []


def child_environment() -> dict[str, str]:
    """The environment of our child processes: same packages, no recording."""
    environment = {key: value for key, value in os.environ.items() if key != RECORD_VARIABLE}
    # Programs put paths of other types there, too; imports pass over them.
    places = [path or os.curdir for path in sys.path if isinstance(path, str)]
    environment["PYTHONPATH"] = os.pathsep.join(places)
    # Files in the program's working directory must not be imported as modules of ours.
    environment["PYTHONSAFEPATH"] = "1"
    return environment


def _joined(writer: Writer, children: Sequence[Path]) -> list[Note]:
    """Add the children's files to the end of the recording's as they are."""
    notes = []
    for child in children:
        try:
            writer.extend(child, whole_bytes(child))
            child.unlink()
        except OSError as error:
            text = f"The child process's recording {child} remains a separate file: {error}."
            notes.append(Note("child-apart", "warning", text))
    return notes


def _left(reason: str) -> Note:
    text = (
        f"The recording is left in chunks ({reason}): Stepscope shows all of it, other viewers the "
        "first chunk. `stepscope repair FILE` puts it together."
    )
    return Note("left-in-chunks", "warning", text)
