"""Types of the kernel that reads SQLite pages: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...

class PageReader:
    row: int
    def __init__(self, columns: memoryview, rowid_place: int, null: int) -> None: ...
    def read(
        self,
        buf: memoryview,
        begins: memoryview,
        usable: int,
        numbers: memoryview,
        lengths: memoryview,
    ) -> bool: ...

def find_equal(
    buf: memoryview, begin: memoryview, length: memoryview, slots: memoryview, first: memoryview
) -> bool: ...
