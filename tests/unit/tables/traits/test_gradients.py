"""What autograd's numbers tell of ops without Python's calls: their gradients, and who has none."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import Part, compiled_parts
from stepscope.tables.parts.sites import between_of
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host


def op(name: str, number: int = -1, *, backward: bool = False) -> Drawn:
    """An op of PyTorch's; under no_grad it has no number."""
    numbered = {names.SEQUENCE_NUMBER: number} if number >= 0 else {}
    return event(name, **numbered, args=f'{{"Fwd thread id": {int(backward)}}}')


def parts_of(thread: str, *below: str, **events: Drawn) -> dict[str, Part]:
    """The parts of two steps of 1 ms, by name."""
    rows = "".join(f'\n          "        {row}' for row in below)
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        {thread}{rows}
        """,
        **events,
    )
    found = account(one)
    assert found is not None
    return {f"{one.kind} {one.name}": one for one in compiled_parts(one, found, owners(found))}


TRAINED = {
    "L": op("aten/linear:linear", 5),
    "m": op("aten/addmm:addmm"),
    "G": op("autograd/AddmmBackward0:AddmmBackward0", 5, backward=True),
    "w": op("aten/mm:mm"),
}


def test_a_gradient_is_told_with_the_op_that_was_called() -> None:
    found = parts_of("L-GGGG...." * 2, "mmwwww...." * 2, **TRAINED)
    said = "within autograd/AddmmBackward0, the gradient of aten/linear"
    assert between_of(found["op matmul"]) == said


def test_a_gradient_made_deep_in_an_op_is_of_the_op_that_was_called() -> None:
    """A matrix of blocks copies each in, and each copy has a gradient with a later number."""
    found = parts_of(
        "B----L-GGG.CCC......B----L-GGG.CCC......",
        ".i.k..m.ww..cc.......i.k..m.ww..cc......",
        **TRAINED | {"L": op("aten/linear:linear", 9), "G": op("autograd/A:A", 9, backward=True)},
        B=op("aten/block_diag:block_diag", 5),
        i=op("aten/copy_:copy_", 6),
        k=op("aten/copy_:copy_", 7),
        C=op("torch/autograd/CopySlices:CopySlices", 7, backward=True),
        c=op("aten/copy_:copy_"),
    )
    whole = found["layer aten/block_diag"]  # it stands for what it runs
    copies = [one.between for one in whole.owners if one.family == "copy"]
    assert len(copies) == 2 and all("aten/block_diag" in one for one in copies)


def test_what_several_gradients_share_is_told_by_the_op_they_are_of() -> None:
    other = {
        "M": op("aten/linear:linear", 6),
        "H": op("autograd/AddmmBackward0:AddmmBackward0", 6, backward=True),
    }
    found = parts_of("L-M-H-G-..L-M-H-G-..", "mmmmwwww..mmmmwwww..", **TRAINED, **other)
    assert between_of(found["op matmul"]) == "within aten/linear and its gradient"


AGAIN = {
    "C": op("aten/conv2d:conv2d"),
    "v": op("aten/convolution:convolution"),
    "n": op("aten/native_batch_norm:native_batch_norm"),
}


def test_a_pass_without_gradients_stands_for_its_ops() -> None:
    found = parts_of("C-nC-nL-GG" * 2, "vv.vv.mmww" * 2, **TRAINED, **AGAIN)
    apart = found["layer a pass without gradients"]
    assert apart.total_ps == 1_200_000_000
    assert found["op matmul"].total_ps == 800_000_000
    assert "op convolution" not in found


def test_products_that_are_most_of_such_a_pass_are_told_by_themselves() -> None:
    found = parts_of("C--C--L-GG" * 2, "vv.vv.mmww" * 2, **TRAINED, **AGAIN)
    assert found["op convolution"].is_apart
    assert not found["op matmul"].is_apart


def test_what_leaves_its_number_to_the_next_op_is_a_pass_as_well() -> None:
    """A frozen model under gradients notes a number that it does not take."""
    frozen = {"C": op("aten/conv2d:conv2d", 5), "n": op("aten/native_batch_norm:n", 5)}
    found = parts_of("C-nC-nL-GG" * 2, "vv.vv.mmww" * 2, **TRAINED, **AGAIN | frozen)
    assert found["layer a pass without gradients"].total_ps == 1_200_000_000
    taken = {"C": op("aten/conv2d:conv2d", 4), "n": op("aten/native_batch_norm:n", 5)}
    found = parts_of("C-.n..L-GG" * 2, "vv....mmww" * 2, **TRAINED, **AGAIN | taken)
    assert "layer a pass without gradients" not in found


def test_a_metric_is_no_pass_of_a_model() -> None:
    found = parts_of("C-nnnnL-GG" * 2, "vv....mmww" * 2, **TRAINED, **AGAIN)
    assert "layer a pass without gradients" not in found


def test_where_nothing_is_differentiated_no_pass_is_apart() -> None:
    found = parts_of("C-nC-n...." * 2, "vv.vv....." * 2, **AGAIN)
    assert not found["op convolution"].is_apart


def test_a_pass_that_runs_again_for_its_gradients_has_them() -> None:
    again = event("autograd::engine::evaluate_function: CheckpointFunctionBackward")
    found = parts_of("C-nC-nL-GZ" * 2, "vv.vv.mmww" * 2, **TRAINED, **AGAIN, Z=again)
    assert "layer a pass without gradients" not in found


def test_an_update_is_no_pass() -> None:
    """Muon multiplies matrices to update them."""
    found = parts_of(
        "L-GGO-----" * 2,
        "mmwwC-nC-n" * 2,
        "....vv.vv." * 2,
        **TRAINED,
        **AGAIN,
        O=event("Optimizer.step#Muon.step"),
    )
    assert "layer a pass without gradients" not in found


def test_what_follows_the_last_gradient_may_be_a_step_that_was_cut() -> None:
    found = parts_of("L-GG......C-nC-n....", "mmww......vv.vv.....", **TRAINED, **AGAIN)
    assert "layer a pass without gradients" not in found
