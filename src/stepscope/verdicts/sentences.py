"""Words that sentences share: a framework's names of calls, and names of parts of a step.

Nobody reads the calls of a framework that was not recorded. What each of them calls a thing is
written as a choice, ``[tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile]``, anywhere
in a sentence. One that is nothing but a choice is left out for unknown frameworks, and for those
that it does not name.
"""

from __future__ import annotations

import re
from typing import Final

# What the environment calls a framework, and what choices and code do.
_KEYS: Final = {"TensorFlow": "tensorflow", "JAX": "jax", "PyTorch": "pytorch"}
_CHOICE: Final = re.compile(r"\[((?:tensorflow|jax|pytorch): [^]]{0,400})\]")


#: What idle devices wait for, by cause.
IDLE_LABELS: dict[str, str] = {
    "input": "Waiting for input",
    "copy": "Host side of copies",
    "kernel_launch": "Kernel launch",
    "allocation": "Allocating device memory",
    "compilation": "Compilation",
    "host_compute": "Host compute",
    "other_device": "Another device works",
    "wait": "Waiting on the host",
    "queued": "Launched, not started",
    "python": "Python",
    "other": "Nothing recorded",
}


def key_of(framework: str) -> str:
    """The key of a framework by what the environment calls it; "" where it has none."""
    return _KEYS.get(framework, "")


def chosen(sentence: str, framework: str) -> str:
    """A sentence with what one framework, by its key, calls things; "" names all of them."""
    if not framework and _CHOICE.fullmatch(sentence):
        return ""
    return _CHOICE.sub(lambda found: _said(found.group(1), framework), sentence).strip()


def _said(choice: str, framework: str) -> str:
    """One alternative, or all of them, each once, where the framework is unknown."""
    named = dict(one.strip().split(": ", 1) for one in choice.split(" | "))
    return named.get(framework, "") if framework else ", ".join(dict.fromkeys(named.values()))


_WORDS = {
    "op": "The ops of the family {name}",
    "eager": "What the program runs op by op in a loop",
    "function": "The ops that {name} runs",
    "layer": "The ops named after {name}",
    "program": "Running the compiled function {name}",
    "framework": "The framework's own work on the loop's thread ({name})",
    "region": "The range {name}, in which nothing else was recorded,",
    "unrecorded": "Time in which nothing was recorded on the loop's thread",
    "input": "Waiting for input ({name})",
    "compile": "Compiling and tracing ({name})",
    "copy": "Copying",
    "launch": "Launching kernels",
    "wait": "Waiting ({name})",
    "collective": "Communication between devices",
    "allocation": "Allocating memory",
}
#: Parts that are several things.
MANY = ("op", "function", "layer")


def part_words(kind: str, name: str) -> str:
    """A part as the subject of a sentence."""
    return _WORDS.get(kind, "{name}").format(name=name).replace(" ()", "")
