"""Types of the kernels of the pyramid: mypy cannot follow Cython's annotations."""

def is_compiled() -> bool: ...
def lay_out(
    start_ps: memoryview,
    duration_ps: memoryview,
    order: memoryview,
    ends: memoryview,
    lane: memoryview,
    state: memoryview,
) -> int: ...
def place_events(
    order: memoryview, lane: memoryview, cursor: memoryview, placed: memoryview
) -> None: ...
def sum_blocks(
    duration_ps: memoryview,
    order: memoryview,
    count: int,
    level_begin: memoryview,
    block_max: memoryview,
    block_sum: memoryview,
    block_longest: memoryview,
) -> None: ...
def find_spans(
    start_ps: memoryview,
    duration_ps: memoryview,
    order: memoryview,
    lane_begin: memoryview,
    first_lane: int,
    begin: int,
    end: int,
    low: memoryview,
    high: memoryview,
) -> None: ...
def cut_cells(
    start_ps: memoryview,
    duration_ps: memoryview,
    order: memoryview,
    lane_begin: memoryview,
    level_begin: memoryview,
    block_max: memoryview,
    block_sum: memoryview,
    block_longest: memoryview,
    first_lane: int,
    last_lane: int,
    begin: int,
    end: int,
    bucket_ps: int,
    cell_begin: memoryview,
    cell_end: memoryview,
    cell_busy: memoryview,
    cell_count: memoryview,
    cell_event: memoryview,
    cell_lane: memoryview,
) -> int: ...
def add_density(
    start_ps: memoryview,
    duration_ps: memoryview,
    order: memoryview,
    lane_begin: memoryview,
    block_sum: memoryview,
    lane: int,
    begin: int,
    column_ps: int,
    busy: memoryview,
    count: memoryview,
) -> None: ...
