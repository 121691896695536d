"""Types of the kernels over activities: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def latest_ends(
    before: memoryview, after: memoryview, margin_ps: memoryview, latest_ps: memoryview
) -> None: ...
def way_back(before: memoryview, last: int, way: memoryview) -> int: ...
def replay(
    step: memoryview,
    waits_for: memoryview,
    length: memoryview,
    gap: memoryview,
    gone: memoryview,
    slack: memoryview,
    clocks: memoryview,
    saved: memoryview,
) -> None: ...
