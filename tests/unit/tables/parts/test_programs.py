"""Parts of compiled programs: their lines, and ops that JAX dispatches one by one."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import Account, account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, lines_of, parts, with_programs
from stepscope.tables.parts.shares import writer_into_argument
from stepscope.tables.parts.sites import leading, sites_of
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles import draw, event, space
from tests.profiles.drawing import Drawn
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import Event, Plane, line, u
from tests.profiles.model import host as model_host
from tests.unit.analysis.compiled import profile
from tests.unit.tables.account.drawn import STEP, accounted

Frame = tuple[str, int, str]
Lines = list[tuple[int, int]]
MODEL, ALONE = 7, 8


def ran(op: str, id_: int = MODEL) -> Drawn:
    return event(op, hlo_op=op, program_id=u(id_))


def parameter(name: str, *shape: int, number: int = 0) -> Instruction:
    return instruction(name, "parameter", f32(*shape), parameter_number=number)


# ------------------------------------------------------------------ lines

ENERGY: Frame = ("/home/me/hmc.py", 20, "energy")
FIRST: Frame = ("/home/me/hmc.py", 31, "leapfrog")
SECOND: Frame = ("/home/me/hmc.py", 36, "leapfrog")
STEP_LINE: Frame = ("/home/me/hmc.py", 50, "transition")
HALVES = "AAAABBBB.."


def products(first: list[Frame], second: list[Frame], pool: str) -> tuple[Host, Part]:
    """Those of two steps of 1 ms: ``A`` comes from the first stack, ``B`` from the other."""
    entry = [parameter("x", 64, 64)]
    for name, of, stack in (("dot.1", "x", first), ("dot.2", "dot.1", second)):
        entry.append(
            instruction(
                name, "dot", f32(64, 64), of, "x",
                contracting=(1, 0), op_name="jit(draw)/dot_general", stack=stack,
            )
        )  # fmt: skip
    picture = f"/host:CPU\n  python  S---------S---------\n  tf_XLAEigen  {pool * 2}"
    planes = draw(picture, unit_us=100, S=STEP, A=ran("dot.1"), B=ran("dot.2"))
    compiled = metadata_plane(("jit_draw", MODEL, program("jit_draw", entry)))
    (one,) = profile(compiled, *planes).hosts
    return one, max(parts(accounted(one)), key=lambda part: part.total_ps * (part.kind == "op"))


@pytest.mark.parametrize(
    ("first", "second", "pool", "lines", "callers"),
    [
        ([ENERGY, FIRST], [ENERGY, FIRST], HALVES, [(20, 100)], [(31, 100)]),
        ([FIRST, STEP_LINE], [SECOND, STEP_LINE], HALVES, [(31, 50), (36, 50)], [(50, 100)]),
        ([FIRST], [SECOND], "AAAAAAAB..", [(31, 88)], []),
        ([], [], HALVES, [], []),
    ],
    ids=["one place", "one caller", "one has nearly all", "nothing known"],
)
def test_lines_of_products_and_of_their_callers(
    first: list[Frame], second: list[Frame], pool: str, lines: Lines, callers: Lines
) -> None:
    found = sites_of(*products(first, second, pool))
    listed = [[(site.line, round(100 * share)) for site, share in of] for of in found]
    assert listed == [lines, callers]


@pytest.mark.parametrize(("pool", "line"), [("AABBBBBB..", 36), ("AAAAAABB..", 31)])
def test_a_part_is_placed_where_most_of_it_is_whichever_op_is_the_longest(
    pool: str, line: int
) -> None:
    host, part = products([FIRST], [SECOND], pool)
    assert compiled_from(host, leading(host, part)).line == line


def test_a_program_has_the_lines_that_the_work_comes_from() -> None:
    stack = [("train.py", 12, "scores"), ("train.py", 30, "loss_of")]
    entry = [
        parameter("x", 1000),
        instruction("e", "exponential", f32(1000), "x", op_name="jit(f)/exp", stack=stack),
        instruction("s", "add", f32(1000), "e", "e", op_name="jit(f)/add"),
    ]
    planes = draw(
        """
        /host:CPU
          python                S---------S---------
          "                     J.........J.........
          tf_XLAPjRtCpuClient   .RRRRRRRR..RRRRRRRR.
        """,
        unit_us=100,
        S=STEP,
        J=event("PjitFunction(train_step)"),
        R=event("ThunkExecutor::Execute (wait for completion)"),
    )
    compiled = metadata_plane(("jit_train_step", MODEL, program("jit_train_step", entry)))
    (one,) = profile(compiled, *planes).hosts
    listed = with_programs(one, parts(accounted(one)))
    (largest,) = [part for part in listed if part.kind == "program"]
    lines = lines_of(one, largest)
    assert [(at.name, at.frame.line, round(100 * at.share)) for at in lines] == [("exp", 12, 91)]


# ------------------------------------------------------------------ copied arguments

HERE = [("decode.py", 8, "block"), ("decode.py", 21, "decode_one")]
WRITE = instruction(
    "write", "dynamic-update-slice", f32(2048, 64), "copy.1", "new", "where", stack=HERE
)
FUSED = instruction("fusion", "fusion", f32(2048, 64), "copy.1", "new", calls=["body"])
BODY = [
    parameter("p", 2048, 64),
    parameter("q", 1, 64, number=1),
    instruction("inner", "scatter", f32(2048, 64), "p", "q", stack=HERE),
]
SUM = instruction("sum", "reduce", f32(64), "copy.1", stack=HERE)


@pytest.mark.parametrize(
    ("reads", "of", "bodies", "writer"),
    [
        ([WRITE], "cache", {}, "dynamic-update-slice"),
        ([FUSED], "cache", {"body": BODY}, "scatter"),
        ([WRITE], "made", {}, ""),
        ([SUM], "cache", {}, ""),
        ([], "cache", {}, ""),
    ],
    ids=["written", "written in a fusion", "of what the program made", "only read", "for nothing"],
)
def test_an_argument_is_copied_for_what_writes_into_it(
    reads: list[Instruction], of: str, bodies: dict[str, list[Instruction]], writer: str
) -> None:
    entry = [
        parameter("cache", 2048, 64),
        parameter("new", 1, 64, number=1),
        parameter("where", number=2),
        instruction("made", "negate", f32(2048, 64), "cache", stack=HERE),
        instruction("copy.1", "copy", f32(2048, 64), of),
        *reads,
    ]
    thread = line("tf_XLAEigen", ("copy.1", 0.0, 10.0, {"hlo_op": "copy.1", "program_id": u(7)}))
    compiled = metadata_plane(("jit_decode", 7, program("jit_decode", entry, bodies=bodies)))
    (one,) = profile(compiled, model_host(thread)).hosts
    event = int(one.space.lines[-1].begin)
    assert writer_into_argument(one, event) == writer
    assert writer_into_argument(one, -1) == ""
    if writer:
        found = compiled_from(one, event)
        place = (found.file, found.line, found.caller)
        assert place == ("decode.py", 8, "decode.py:21 decode_one")


# ------------------------------------------------------------------ dispatched one by one


def planes_of(model: dict[str, str], alone: tuple[str, str]) -> Plane:
    """Two programs of additions: the model's by name and path, and one of one op."""
    programs = []
    for name, id_, ops in (("jit_loss", MODEL, model), (alone[0], ALONE, {"one": alone[1]})):
        adds = [instruction(op, "add", f32(4), "x", "x", op_name=path) for op, path in ops.items()]
        programs.append((name, id_, program(name, [parameter("x", 4), *adds])))
    return metadata_plane(*programs)


def of_host(*planes: Plane) -> Account:
    found = account(Host("h", decode(space(*planes))))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("module", "op", "expected"),
    [
        # Both are of one family, and only one is the model's; all of update's calls are its own.
        ("jit_multiply", "jit(multiply)/mul", {("framework", "update"): 4, ("op", "mul"): 4}),
        ("jit_adam", "jit(adam)/mul", {("op", "mul"): 5}),  # a compiled function's ops stay ops
    ],
)
def test_what_is_dispatched_by_itself_goes_with_the_function_that_dispatches_it(
    module: str, op: str, expected: dict[tuple[str, str], int]
) -> None:
    """Steps that compute a loss, and then update with ops that a pool runs."""
    drawn = draw(
        """
        /host:CPU
          python        S---------S---------
          "             M--------.M--------.
          "             .....U---......U---.
          "             .....JJJJ......JJJJ.
          tf_XLAEigen   .AAA....EE.AAA....EE
        """,
        unit_us=100,
        S=STEP,
        M=event("$train.py:30 main"),
        U=event("$train.py:12 update"),
        J=event("PjitFunction(f)"),
        A=ran("sum"),
        E=ran("one", ALONE),
    )
    found = of_host(planes_of({"sum": "jit(loss)/jvp(Net)/mul"}, (module, op)), *drawn)
    made = {(part.kind, part.name): part.total_ps // 200_000_000 for part in parts(found)}
    assert expected.items() <= made.items()


def test_where_ops_share_labels_those_by_themselves_stay_apart() -> None:
    """More ops than labels, of one family: sums of a model's and sums one by one."""
    model = {f"sum{at}": f"jit(loss)/m{at}/add" for at in range(298)}
    pool = [(op, 2 * at, 1, MODEL) for at, op in enumerate(model)] + [("one", 700, 100, ALONE)]
    ops = [
        Event(op, 1000.0 * n + at, length, {"hlo_op": op, "program_id": u(id_)})
        for n in range(2)
        for op, at, length, id_ in pool
    ]
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(2)]
    threads = model_host(line("python", *steps), line("tf_XLAEigen", *ops))
    found = of_host(planes_of(model, ("jit_add", "jit(add)/add")), threads)
    owners = [owner for part in parts(found) for owner in part.owners if owner.kind == "op"]
    (alone,) = (owner for owner in owners if owner.name == "jit(add)/add")
    assert not alone.others and alone.total_ps == 2 * 100_000_000
