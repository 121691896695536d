"""Types of the kernel that reads events' values: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...

class ValueReader:
    token: int
    reason: int
    row: int
    value_row: int
    texts: int
    chains: int
    words: int
    times: int
    def __init__(self, classes: memoryview, seed: int) -> None: ...
    def room_for_events(self, columns: tuple[memoryview, ...]) -> None: ...
    def room_for_texts(
        self, arena: memoryview, begin: memoryview, hashes: memoryview, slots: memoryview
    ) -> None: ...
    def room_for_chains(
        self, before: memoryview, keys: memoryview, texts: memoryview, slots: memoryview
    ) -> None: ...
    def text(self, buf: memoryview) -> int: ...
    def fill(
        self,
        buf: memoryview,
        columns: tuple[memoryview, memoryview, memoryview, memoryview, memoryview],
        tokens: int,
    ) -> None: ...
