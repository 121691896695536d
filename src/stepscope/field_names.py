"""What the names of fields say to a person: their label in words and their unit.

The names are the published contract and end in their unit (``_ms``, ``_frac`` …). Every surface
takes labels from here: the terminal and Markdown directly, the pages with what a tool says of
itself.
"""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "_ps": "ps",
    "_ns": "ns",
    "_us": "µs",
    "_ms": "ms",
    "_s": "s",
    "_frac": "%",
    "_pct": "%",
    "_bytes": "bytes",
    "_flops": "FLOP",
    "_tflop": "TFLOP",
    "_tflops": "TFLOP/s",
    "_gflops": "GFLOP/s",
    "_gbps": "GB/s",
    "_gbitps": "Gbit/s",
}
_WORDS: Final = {
    "bw": "bandwidth",
    "cpu": "CPU",
    "flop": "FLOP",
    "gpu": "GPU",
    "hbm": "HBM",
    "hfu": "HFU",
    "hlo": "HLO",
    "id": "ID",
    "mfu": "MFU",
    "p95": "95th percentile",
    "std": "standard deviation",
    "tf": "TF",
    "tpu": "TPU",
    "xla": "XLA",
}
# Where the name of a field is not what it is called.
_CALLED: Final = {
    "bits_16_frac": "In 16 bits or fewer",
    "idle_of": "Idle share of",
    "include_infeed_outfeed": "Include infeed and outfeed",
    "step_table": "Steps",
    "tensor_core_eligible_frac": "Could use tensor cores",
    "tensor_core_frac": "On tensor cores",
    "tensor_core_missed_us": "Products without tensor cores",
}


def label_of(name: str) -> str:
    """A field's name in words: ``host_tf_op_frac`` → "Host TF op"."""
    if name in _CALLED:
        return _CALLED[name]
    plain = (name.removesuffix(suffix_of(name)) or name).removesuffix("_table")
    text = " ".join(_WORDS.get(word, word) for word in plain.split("_") if word)
    return text[:1].upper() + text[1:]


def suffix_of(name: str) -> str:
    """The unit suffix of a field's name, "" for none."""
    return max((suffix for suffix in _UNITS if name.endswith(suffix)), key=len, default="")


def unit_of(name: str) -> str:
    """The unit of a field by its suffix, "" for none."""
    return _UNITS.get(suffix_of(name), "")


# What a row has an amount of, by the kind of its column: added up over rows it says something.
_AMOUNTS: Final = {
    "count": re.compile(r"(occurrences|executions|events|count|kernels|steps|samples)$"),
    "time": re.compile(
        r"(step|self|total|busy|idle|wasted|delta|before|after)_|total|"
        r".{0,99}(_wait_|_compute_|_launch_|_device_)"
    ),
    "bytes": re.compile(r"(allocation|requested)_bytes$"),
    "ratio": re.compile(r"(.{0,99}_)?(self_time|total_time|time)_frac$"),
}
# Total times hold those of the ops within: added up they count time twice.
_LEVELS: Final = re.compile(
    r"(^|_)(avg|average|mean|median|min|max|p\d+|cumulative)(_|$)|^total_time_"
)


def adds_up(name: str, kind: str) -> bool:
    """Whether a sum over rows of a column means something: of amounts, not of levels and means."""
    amounts = _AMOUNTS.get(kind)
    return bool(amounts and amounts.match(name)) and not _LEVELS.search(name)


def is_cumulative(label: str) -> bool:
    """Whether each row of a column of this label holds the sum of all rows before it."""
    return "cumulative" in label.lower()


def is_share(label: str, kind: str) -> bool:
    """Whether the ratios of a column are shares of one whole, to be compared with each other."""
    return kind == "ratio" and "share" in label.lower() and not is_cumulative(label)
