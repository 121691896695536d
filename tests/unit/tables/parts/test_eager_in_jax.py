"""Ops that JAX runs by themselves go with the call that dispatches them, not with the model's."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from tests.profiles import draw, event, space
from tests.profiles.drawing import Drawn
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import Event, Plane, line, u
from tests.profiles.model import host as model_host
from tests.unit.tables.account.test_account import STEP

MODEL, ALONE = 7, 8
Parts = dict[tuple[str, str], int]


def planes_of(model: dict[str, str], alone: tuple[str, str]) -> Plane:
    """Two programs of additions: the model's by name and path, and one of one op."""
    programs = []
    for name, id_, ops in (("jit_loss", MODEL, model), (alone[0], ALONE, {"one": alone[1]})):
        entry = [instruction("x", "parameter", f32(4), parameter_number=0)]
        entry += [
            instruction(op, "add", f32(4), "x", "x", op_name=path) for op, path in ops.items()
        ]
        programs.append((name, id_, program(name, entry)))
    return metadata_plane(*programs)


def ran(op: str, id_: int) -> Drawn:
    return event(op, hlo_op=op, program_id=u(id_))


def made(module: str, op: str, calls: str = ".....JJJJ.", pool: str = ".AAA....EE") -> Parts:
    """Steps that compute a loss, and then update with ops that a pool runs."""
    drawn = draw(
        f"""
        /host:CPU
          python        S---------S---------
          "             M--------.M--------.
          "             .....U---......U---.
          "             {calls * 2}
          tf_XLAEigen   {pool * 2}
        """,
        unit_us=100,
        S=STEP,
        M=event("$train.py:30 main"),
        U=event("$train.py:12 update"),
        J=event("PjitFunction(f)"),
        A=ran("sum", MODEL),
        E=ran("one", ALONE),
    )
    planes = planes_of({"sum": "jit(loss)/jvp(Net)/mul"}, (module, op))
    found = account(Host("h", decode(space(planes, *drawn))))
    assert found is not None
    return {(part.kind, part.name): part.total_ps // 200_000_000 for part in parts(found)}


def test_what_is_dispatched_by_itself_goes_with_the_function_that_dispatches_it() -> None:
    """Both are products of one family, and only one is the model's."""
    found = made("jit_multiply", "jit(multiply)/mul")
    assert found["framework", "update"] == 4  # all of its calls, and the op that runs in it
    assert found["op", "mul"] == 4


def test_what_a_compiled_function_computes_stays_the_ops() -> None:
    assert made("jit_adam", "jit(adam)/mul")["op", "mul"] == 5


def test_where_ops_share_labels_those_by_themselves_stay_apart() -> None:
    """More ops than labels, of one family: sums of a model's and sums one by one."""
    model = {f"sum{at}": f"jit(loss)/m{at}/add" for at in range(298)}
    pool = [
        Event(op, 1000.0 * n + 2 * at, 1, {"hlo_op": op, "program_id": u(MODEL)})
        for n in range(2)
        for at, op in enumerate(model)
    ]
    pool += [
        Event("one", 1000.0 * n + 700, 100, {"hlo_op": "one", "program_id": u(ALONE)})
        for n in range(2)
    ]
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(2)]
    threads = model_host(line("python", *steps), line("tf_XLAEigen", *pool))
    planes = planes_of(model, ("jit_add", "jit(add)/add"))
    found = account(Host("h", decode(space(planes, threads))))
    assert found is not None
    owners = [owner for part in parts(found) for owner in part.owners if owner.kind == "op"]
    (alone,) = (owner for owner in owners if owner.name == "jit(add)/add")
    assert not alone.others and alone.total_ps == 2 * 100_000_000
