"""What ``stepscope doctor`` prints, and its exit code, on machines we do not have."""

from __future__ import annotations

import json

import pytest

from stepscope import doctor as machine_doctor
from stepscope.surfaces.cli.commands.doctor import check_machine
from tests.unit.doctor.made_up import FakeMachine, admin_only, with_h100


def on(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, as_json: bool = False) -> int:
    monkeypatch.setattr(machine_doctor, "Machine", lambda: machine)
    return check_machine("/logs", as_json)


def test_a_problem_is_exit_code_1_with_its_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on(with_h100(libraries={}), monkeypatch) == 1
    out = capsys.readouterr().out
    assert out.startswith("1 problem")
    assert "problem  nvidia-driver" in out
    assert "→ Run nvidia-smi for the cause" in out


def test_a_warning_is_exit_code_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on(admin_only(), monkeypatch, as_json=True) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["verdict"] == "warning"
    (found,) = [each for each in body["checks"] if each["status"] == "warning"]
    assert found["check"] == "gpu-privilege"
    assert "modprobe.d" in found["hint"]


def test_a_machine_in_order_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on(with_h100(), monkeypatch) == 0
    assert "Nothing here would spoil a recording." in capsys.readouterr().out


def test_a_name_from_the_machine_cannot_command_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = with_h100()
    machine.libraries["/site/nvidia/cuda_cupti/lib/libcupti.so.12"] = "\x1b[31mred\x07"
    on(machine, monkeypatch)
    out = capsys.readouterr().out
    assert "does not load" in out
    assert "\x1b" not in out and "\x07" not in out
