"""Types of the kernels that read: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def index_fields(
    buf: memoryview,
    begins: memoryview,
    ends: memoryview,
    counted: int,
    pause: int,
    parent: memoryview,
    tags: memoryview,
    begin: memoryview,
    prefix: memoryview,
    value: memoryview,
    end: memoryview,
    state: memoryview,
) -> None: ...

class LineReader:
    at: int
    row: int
    stat: int
    noted: int
    full: bool
    error: int
    error_at: int
    error_stat: int
    def __init__(
        self,
        buf: memoryview,
        events: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        stats: tuple[memoryview, memoryview, memoryview],
        at: int,
        row: int,
        stat: int,
    ) -> None: ...
    def fill(
        self,
        end: int,
        pause: int,
        shift: int,
        event_rows: memoryview,
        stat_rows: memoryview,
        notes: memoryview,
    ) -> None: ...
