"""Types of the kernel that finds events in JSON: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...

class EventScanner:
    at: int
    reason: int
    tokens: int
    lost: int
    repaired: int
    garbage: int
    def __init__(
        self, columns: tuple[memoryview, memoryview, memoryview, memoryview, memoryview]
    ) -> None: ...
    def skip(self, buf: memoryview, at: int, end: int, final: bool) -> int: ...
    def scan(self, buf: memoryview, at: int, end: int, final: bool) -> None: ...
