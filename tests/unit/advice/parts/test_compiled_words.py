"""What the advice says of compiled functions of whose ops none was recorded."""

from __future__ import annotations

from tests.unit.advice.test_largest_part import account, part, told


def test_the_estimate_of_a_compiled_function_is_told_with_its_line_and_tried_first() -> None:
    most = "73% normal in perturbations"
    lines = f"{most} (evolve.py:49, called from evolve.py:56 generation)"
    one = part(
        kind="program",
        name="generation",
        file="evolve.py",
        line=49,
        estimated=lines,
        mostly="73% normal in perturbations",
    )
    (found,) = told(account(one)).findings
    assert f"By what its program has to compute, an estimate, the work is {lines}." in found.message
    assert found.title.endswith("% of the step, of it an estimated 73% normal in perturbations")
    assert found.actions[0].startswith("Leave out what the first of these lines computes")


def test_without_an_estimate_a_newer_version_may_name_the_ops() -> None:
    (found,) = told(account(part(kind="program", name="generation"))).findings
    assert "estimate" not in found.message
    assert found.actions[0].startswith("To see inside it, record with a newer version")
