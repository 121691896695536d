"""Types of the kernels that write: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...

class LineWriter:
    at: int
    row: int
    def __init__(
        self,
        buf: memoryview,
        events: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        stats: tuple[memoryview, memoryview, memoryview],
        ids: tuple[memoryview, memoryview],
    ) -> None: ...
    def write(self, begin: int, end: int, shift: int, out: memoryview) -> None: ...
