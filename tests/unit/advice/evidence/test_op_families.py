"""What kind of work ops are, by their types as frameworks record them."""

import pytest

from stepscope.advice.evidence.op_families import family_of


@pytest.mark.parametrize(
    ("op_type", "name"),
    [
        ("aten/linear", "matrix products"),
        ("linear", "matrix products"),
        ("_MklMatMul", "matrix products"),
        ("_fused_sgd_", "optimizer updates"),
        ("aten/_fused_adamw_", "optimizer updates"),
        ("_foreach_add_", "optimizer updates"),
        ("ResourceApplyAdam", "optimizer updates"),
        ("_MklNativeConv2DBackpropFilterWithBias", "convolutions"),
        ("convolution_backward", "convolutions"),
    ],
)
def test_the_family_of_a_type(op_type: str, name: str) -> None:
    found = family_of(op_type)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "op_type", ["upsample_bilinear2d", "ResizeBilinear", "upsample_linear1d", "nonlinearity"]
)
def test_what_only_has_a_family_in_its_name_is_none_of_it(op_type: str) -> None:
    assert family_of(op_type) is None
