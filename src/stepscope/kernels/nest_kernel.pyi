"""Types of the kernels over intervals: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def nest_line(
    start_ps: memoryview,
    duration_ps: memoryview,
    begin: int,
    end: int,
    order: memoryview,
    select: memoryview,
    covered: memoryview,
    parent: memoryview,
    self_ps: memoryview,
    depth: memoryview,
) -> int: ...
def merge_spans(
    starts: memoryview, ends: memoryview, merged_start: memoryview, merged_end: memoryview
) -> int: ...
