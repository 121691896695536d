"""Python functions of frameworks, known by file and function where no path was recorded.

The tracers of JAX and TensorFlow write ``$array.py:615 _value`` without the folder of the file. A
program may have an ``api.py`` of its own, so such files count by the functions they have.
"""

from __future__ import annotations

import re
from typing import Final

# Files that only JAX has.
_FILES_OF_JAX: Final = re.compile(
    r"(pxla|pjit|partial_eval|xla_bridge|linear_util|traceback_util|api_util|source_info_util|"
    r"compilation_cache|lax_numpy|mlir|sharding_impls|custom_derivatives|array_methods|"
    r"array_constructors|xla_primitive_callable)\.py"
)
# Functions of files whose names others use, too: JAX's, TensorFlow's, then our recorder's hosts.
_FUNCTIONS: Final = re.compile(
    r"(api\.py (try_to_block|block_until_ready|device_(put|get)\w*|cache_miss|\w+_f(un)?|\w*jit\w*)"
    r"|array\.py (_value|__\w+__|item|tolist|block_until_ready|_single_device_array\w*|"
    r"_copy_single_device\w*|copy_to_host_async|reorder_shards|_check_and_rearrange\w*)"
    r"|dispatch\.py (apply_primitive|xla_primitive_callable|\w*device_put\w*|wait_for_tokens)"
    r"|compiler\.py (\w*backend_compile\w*|compile_or_get_cached|_compile_and_\w+|_cache_\w+)"
    r"|core\.py (\w*bind\w*|process_primitive|find_top_trace|__init__)"
    r"|profiler\.py (st(art|op)_trace|__(init|enter|exit)__|wrapper|trace)"
    r"|ops\.py (_?numpy|__(array|float|int|bool|index|len)__|_numpy_internal)"
    r"|(polymorphic_function|concrete_function|atomic_function|func_graph|def_function|profiler_v2|"
    r"execute)\.py \w+)"
)


def is_framework_function(file: str, function: str) -> bool:
    """Whether a framework has a function of this name in a file of this name."""
    base = _base(file)
    return bool(_FILES_OF_JAX.fullmatch(base) or _FUNCTIONS.fullmatch(f"{base} {_leaf(function)}"))


def _base(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]


def _leaf(function: str) -> str:
    """Of "Array._value" or "outer.<locals>.inner" the last part."""
    return function.rpartition(".")[2]
