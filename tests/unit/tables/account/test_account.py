"""Every moment of a step has one owner, by kind and name; owners make parts."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.result import Place
from stepscope.schema import names
from stepscope.surfaces.format import caller_text
from stepscope.tables.account.account import Growth
from stepscope.tables.account.owners import outer_calls, owners
from stepscope.tables.account.waits import between_ops
from stepscope.tables.parts.grouping import parts
from tests.profiles import event, nth
from tests.unit.tables.account.drawn import (
    Letters,
    Times,
    accounted,
    host,
    owner_named,
    parted,
    told,
)

# What is drawn, what the letters mean, and the milliseconds in both steps.
Story = tuple[list[str], Letters, Times]
NUMBERED = {"sequence_number": 7 + nth, "args": '{"Fwd thread id": 1}'}

PRODUCT, LOSS = "aten/mm:mm", "SparseSoftmaxCrossEntropyWithLogits"
GRAPH = "## Call CompiledFxGraph frkzujfb4e6rm3z4 ##"
TRAIN, TWO = "$train.py:12 main", "S---------S---------"
SLEPT = "tf_pool  .OOOO.........OOOO.."

OWNERS: dict[str, Story] = {
    # ``api.py`` could be anybody's; ``block_until_ready`` in it is JAX's.
    "a wait of JAX's is known where the program that calls it began before": (
        ["B-------..B-------..", ".T-----....T-----..."],
        {"B": "$api.py:3154 block_until_ready", "T": "$api.py:3165 try_to_block"},
        {("wait", "api.block_until_ready"): 1.6},
    ),
    "another function in api.py is the program's": (
        ["B-------..B-------.."],
        {"B": "$api.py:20 handle"},
        {("python", "handle"): 1.6},
    ),
    "the recorder's own work is told apart": (
        [".........R.........."],
        {"R": "$profiler.py:271 stop_trace"},
        {("recorder", ""): 0.1},
    ),
    "the step of PyTorch's profiler is the recorder's but for the program's code in it": (
        ["T-------------------", ".......P--.....P---.", ".......E--.....H-E.."],
        {
            "T": "$/home/me/train.py:40 train",
            "P": "$torch/profiler/profiler.py:1227 step",
            "E": "$torch/autograd/profiler.py:918 __enter__",
            "H": "$/home/me/train.py:9 upload",
        },
        {("recorder", ""): 0.5, ("python", "upload"): 0.2},
    ),
    # DDP on processors: of 500 and 600 µs 300 and 200 are hidden by the products.
    "an exchange costs what the thread does not hide": (
        ["OOOOOO....OOOO......", "gloo  ...AAAAA....AAAAAA.."],
        {"O": "aten/mm:mm", "A": "gloo:all_reduce"},
        {
            ("op", "aten/mm"): 1.0,
            ("collective", "gloo/all_reduce"): 0.6,
            ("unrecorded", "aten/mm → aten/mm"): 0.2,
            ("unrecorded", "after aten/mm"): 0.2,
        },
    ),
    "a compiled graph is an op and no range of the program": (
        [".GGGGG.....GGG......"],
        {"G": GRAPH},
        {("op", "CompiledFxGraph frkzujfb"): 0.8},
    ),
    "where nothing else ran, what is freed names the gap": (
        ["D.........D........."],
        {"D": "TFE_DeleteTensorHandle"},
        {
            ("unrecorded", "TFE_DeleteTensorHandle → TFE_DeleteTensorHandle"): 0.9,
            ("unrecorded", "after TFE_DeleteTensorHandle"): 0.9,
        },
    ),
    # The work was over long before the thread was woken: 600 and 500 µs between the marks, 200
    # and 100 of which an op runs; the marks have 100 each.
    "between two marks of a wait the thread waits whatever runs": (
        [".DW......W.DW.....W.", "tf_pool  ...OO........O......"],
        {"D": "PjitFunction(step)", "W": "CommonPjRtBuffer::Await", "O": "a/MatMul:MatMul"},
        {("wait", "CommonPjRtBuffer::Await"): 1.2},
    ),
    # Freeing old parameters leaves such scopes; the batch that is made after them is Python's.
    "what XLA waits within a scope is over when the scope is": (
        ["DWPPPPPPP.DWPPPPPPP.", "tf_pool  .OOOOOOO...OOOOOOO.."],
        {
            "P": "$loader.py:30 read_wav",
            "D": "PjitFunction(step)",
            "W": "Wait for usage holds",
            "O": "a/MatMul:MatMul",
        },
        {("python", "read_wav"): 1.4},
    ),
    # Two ops that run beside each other on two threads: a person can do without the sort.
    "of ops beside each other the unusual one has the time": (
        ["F--------.F--------.", *(f"{at}  {2 * '.OOOOOOO..'}" for at in ("a", "b"))],
        {"F": "FunctionRun", "O": "sort/TopKV2:TopKV2"},
        {("op", "sort/TopKV2"): 1.4},
    ),
    # A short sort beside a loss costs nothing.
    "of usual ops beside each other the long one has the time": (
        ["F--------.F--------.", f"a  {2 * '.LLLLLLLL.'}", f"b  {2 * '.OO.......'}"],
        {"F": "FunctionRun", "L": f"loss/{LOSS}:{LOSS}", "O": "sort/TopKV2:TopKV2"},
        {("op", f"loss/{LOSS}"): 1.6},
    ),
    # JAX runs behind its calls: one wait at the loop's end, for what all steps asked for.
    "a wait that outlasts the steps is a wait though work goes on": (
        [f".L{'-' * 22}", f"tf_pool  O{'-' * 23}"],
        {"loop": "S---------S---------.....", "L": TRAIN, "O": "a/MatMul:MatMul"},
        {("op", "a/MatMul"): 2.0},
    ),
    # It ends with the work; what ran before the steps, and that it waited for it, is not seen.
    "a call from before the steps waits in their first pause": (
        ["L---------------------", "tf_pool  ......O---------------"],
        {"loop": "..S---------S---------", "L": TRAIN, "O": "a/MatMul:MatMul"},
        {("op", "a/MatMul"): 1.6, ("wait", ""): 0.4},
    ),
    "a call that prepares before the steps waits for nothing": (
        ["L--P------------------", "tf_pool  ......O---------------"],
        {
            "loop": "..S---------S---------",
            "L": TRAIN,
            "O": "a/MatMul:MatMul",
            "P": "$t.py:3 prepare",
        },
        {("python", "prepare"): 0.3},
    ),
    # A clock goes on by itself: 400 of its 600 µs have an op beside them.
    "a program that sleeps waits for nothing that computes": (
        ["M--------.M--------.", ".W-----.......W-----.", SLEPT],
        {"loop": TWO, "M": TRAIN, "W": "$time sleep", "O": "a/MatMul:MatMul"},
        {("library", "time.sleep"): 1.2},
    ),
    "a lock may be held until an op ends": (
        ["M--------.M--------.", ".W-----.......W-----.", SLEPT],
        {"loop": TWO, "M": TRAIN, "W": "$<unknown> acquire", "O": "a/MatMul:MatMul"},
        {("op", "a/MatMul"): 0.8},
    ),
    # Each batch is marked for four moments of ten, in all of which its op runs.
    "between the batches that Keras marks its callbacks run": (
        ["A---......A---......A---......"],
        {"loop": "K---......K---......K---......", "K": "Profiled batch", "A": "net/MatMul:MatMul"},
        {("unrecorded", "between the batches that Keras marks, where callbacks run"): 1.2},
    ),
}


@pytest.mark.parametrize("story", OWNERS)
def test_each_moment_has_one_owner(story: str) -> None:
    rows, letters, expected = OWNERS[story]
    assert expected.items() <= told(host(*rows, **letters)).items()


PARTS: dict[str, Story] = {
    # A loop is told by ops that are named by their type alone.
    "without Python the ops of a loop are one part": (
        [f".{'O.' * 7}OC---" * 2],
        {"O": "Sum:Sum", "C": "gradient_tape/model/MatMul:MatMul"},
        {("eager", ""): 1.6, ("op", "MatMul"): 0.8},
    ),
    # Products and sums of pfor, 600 µs of a step, and 100 µs of the network's own.
    "rows of a Jacobian are one part whatever ops they are": (
        ["W--------.W--------.", "tf_pool  TTAADD.M..TTAADD.M.."],
        {
            "W": "BlockHostUntilReady",
            "T": "gradient_tape/dense/TanhGrad/pfor/Mul:Mul",
            "A": "gradient_tape/dense/mul_2/pfor/Sum:Sum",
            "D": "gradient_tape/dense/MatMul/pfor/MatMul:MatMul",
            "M": "dense/mul:Mul",
        },
        {("op", "pfor"): 1.2, ("op", "Mul"): 0.2},
    ),
    # Only the forward pass of the last closure is recorded: it is not the optimizer's work.
    "a closure that the recording cuts is the model's": (
        [".F-E-A-....U--------", "............F--F----"],
        {
            "F": event(PRODUCT, **{names.SEQUENCE_NUMBER: 1}, args='{"Fwd thread id": 0}'),
            "U": "Optimizer.step#Adam.step",
            "E": "autograd::engine::evaluate_function: MmBackward0",
            "A": "aten/mul:mul",
        },
        {("op", "matmul"): 1.0, ("op", "mul"): 0.2},
    ),
    # Lightning runs the model within the optimizer's step, and the profiler's step() there.
    "the profiler's step may end after the optimizer's it begins in": (
        [
            ".U-------........U-------.......",
            "..M...............M.............",
            "...P---------------P------------",
            "....E-..............E-..........",
            "......A...............A.........",
        ],
        {
            "P": "ProfilerStep#7",
            "M": PRODUCT,
            "U": "Optimizer.step#AdamW.step",
            "E": "autograd::engine::evaluate_function: MmBackward0",
            "A": "aten/mul:mul",
        },
        {("op", "matmul"): 0.2, ("op", "AdamW update"): 0.2},
    ),
}


@pytest.mark.parametrize("story", PARTS)
def test_owners_make_parts(story: str) -> None:
    rows, letters, expected = PARTS[story]
    assert expected.items() <= parted(host(*rows, **letters)).items()


def test_a_framework_that_traces_a_function_compiles_it_with_the_functions_own_code() -> None:
    """The line that calls the compiled function has all of it, whatever else its call does."""
    one = host(
        "T-------------------",
        ".J------...J------..",
        ".C.L----...C.L----..",
        ".....E-......E-.....",
        T="$/home/me/train.py:40 train",
        J="$jax/_src/pjit.py:250 cache_miss",
        C="$jax/_src/pjit.py:466 _trace_for_jit",
        L="$jax/_src/compiler.py:387 compile_or_get_cached",
        E="$/home/me/train.py:9 encode",
    )
    (compiles,) = [part for part in parts(accounted(one)) if part.kind == "compile"]
    assert (compiles.first.function, compiles.total_ps) == ("train", 1_200_000_000)


TRITON = "torch/triton_red_fused_mul_0"


@pytest.mark.parametrize(
    ("rows", "letters", "expected"),
    [
        # A product within a distance is the distance's, in the names of who called it.
        (
            [".D---.M..A.D---.M..A", "..M-........M-......", "..V.........V......."],
            {"D": "aten/cdist:cdist", "M": PRODUCT, "A": "aten/add:add", "V": "aten/view:view"},
            {
                ("aten/cdist", ""): 0.4,
                ("aten/mm", "aten/cdist"): 0.2,
                ("aten/mm", ""): 0.2,
                ("aten/add", ""): 0.2,
            },
        ),
        # What a compiled graph calls says more than the graph.
        (
            ["G-----....G-----....", ".T--.......T--......", "..I.........I......."],
            {"G": GRAPH, "T": f"{TRITON}:triton_red_fused_mul_0", "I": "handing over"},
            {("handing over", TRITON): 0.2},
        ),
        # An op is placed in the range that the program marks around it.
        (
            [".R------...R------..", "..L----.....L----...", "...O--.......O--...."],
            {"R": "weigh", "L": "aten/svdvals:svdvals", "O": "aten/_svd:_svd"},
            {("aten/_svd", "weigh › aten/svdvals"): 0.6},
        ),
    ],
    ids=["an op", "a compiled graph", "a range"],
)
def test_without_python_an_op_is_told_by_what_calls_it(
    rows: list[str], letters: Letters, expected: Times
) -> None:
    found: Times = {}
    for owner in owners(accounted(host(*rows, **letters))):
        key = (owner.name, owner.within)
        found[key] = round(found.get(key, 0.0) + owner.total_ps / 1e9, 6)
    assert expected.items() <= found.items()


def test_a_package_that_calls_a_function_back_is_named_with_its_caller() -> None:
    numdiff = "/venv/lib/python3.12/site-packages/scipy/optimize/_numdiff.py"
    one = host(
        "A---------A---------",
        ".D------...D------..",
        ".E------...E------..",
        "..O-----....O-----..",
        A="$train.py:12 fit",
        D=f"${numdiff}:275 approx_derivative",
        E=f"${numdiff}:580 _dense_difference",
        O="$/src/train.py:3 objective",
    )
    called = owner_named(one, "objective").caller
    assert called == "train.py:12 fit by scipy.optimize.approx_derivative"
    place = Place("objective", "train.py", 3, called)
    assert caller_text(place) == "called from fit (:12) by scipy.optimize.approx_derivative"


def test_a_pair_that_python_works_between_every_other_time_is_not_a_hand_over() -> None:
    """``errors += distance(…); total += len(…)``: two ops of a name, Python before one."""
    pair = [4] + [4, 500] * 12
    lengths, labels = np.asarray([4] * 30 + pair), np.asarray([*range(1, 31), *[0] * 25])
    start = np.arange(len(lengths), dtype=np.int64) * 1_000_000
    found = between_ops(start, start + lengths, labels, labels, 1)
    assert found[30:].tolist() == [one < 500 for one in pair]


def test_a_gradient_is_of_the_line_that_ran_the_op_it_is_of() -> None:
    """Both steps call distance, whose subtraction autograd numbers, then backward."""
    one = host(
        "T--------.T--------.",
        ".D--......D--.......",
        "..O.......O-........",
        ".....B--........B-..",
        "......G-........G-..",
        T="$train.py:40 train",
        D="$train.py:12 distance",
        O=event("aten/sub:sub", sequence_number=7 + nth, args="{}"),
        B=event("MulBackward0:MulBackward0", **NUMBERED),
        G="aten/mul:mul",
    )
    of = {name: owner_named(one, name).function for name in ("aten/mul", "MulBackward0", "train")}
    assert of == {"aten/mul": "distance", "MulBackward0": "distance", "train": "train"}


def test_what_a_call_calls_is_below_it() -> None:
    """Of 1 ms, check has 600 µs, half of them in net; step has 200."""
    one = host(
        "L-------------------",
        "C-----TT..C-----TT..",
        ".N--..kk...N--..kk..",
        ".jjj.......jjj......",
        L="$train.py:50 main",
        C="$train.py:12 check",
        N="$train.py:20 net",
        T="$train.py:30 step",
        j="PjitFunction(add)",
        k="PjitFunction(train_step)",
    )
    found = accounted(one)
    listed = outer_calls(found, owners(found))
    told = [(one.site.function, one.total_ps / 1e9, one.is_loop) for one in listed]
    below = [("main", 2.0, True), ("check", 1.2, False), ("net", 0.6, False), ("step", 0.4, False)]
    assert told == below


@pytest.mark.parametrize(
    ("counts", "growth"),
    [
        ((1, 2, 3, 4), Growth(2, 5, 3.5, "aten/mul")),
        ((6, 7, 8, 9), Growth(7, 10, 8.5, "aten/mul")),
        ((20, 21, 22, 23), None),
    ],
    ids=["more", "more in each step", "a few more of many"],
)
def test_each_step_has_more_than_the_one_before(
    counts: tuple[int, ...], growth: Growth | None
) -> None:
    steps = "".join("B" + "A" * count + "." * (29 - count) for count in counts)
    assert accounted(host(steps, steps=4, A="aten/mul:mul", B=PRODUCT)).growth == growth
