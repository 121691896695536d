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
def sweep_spans(
    starts: memoryview,
    start_class: memoryview,
    ends: memoryview,
    end_class: memoryview,
    step_begin: memoryview,
    step_end: memoryview,
    active: memoryview,
    out: memoryview,
) -> None: ...
def merge_spans(
    starts: memoryview, ends: memoryview, merged_start: memoryview, merged_end: memoryview
) -> int: ...
