"""Types of the kernel that plays steps again: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
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
