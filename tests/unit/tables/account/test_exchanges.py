"""PyTorch without a device: what processes exchange, and graphs that were compiled."""

from __future__ import annotations

from tests.profiles import event
from tests.unit.tables.account.test_account import host, owner_named, told


def test_what_processes_exchange_costs_what_the_thread_does_not_hide() -> None:
    """DDP on processors: gradients go out while the backward pass still computes the others."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        OOOOOO....OOOO......
          gloo     ...AAAAA....AAAAAA..
        """,
        O=event("aten/mm:mm"),
        A=event("gloo:all_reduce"),
    )
    # Of 500 and 600 µs 300 and 200 are hidden by the products.
    assert told(one) == {
        ("op", "aten/mm"): 1.0,
        ("collective", "gloo/all_reduce"): 0.6,
        ("unrecorded", "aten/mm → aten/mm"): 0.2,
        ("unrecorded", "after aten/mm"): 0.2,
    }


def test_a_graph_that_was_compiled_is_an_op_and_no_range_of_the_program() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .GGGGG.....GGG......
        """,
        G=event("## Call CompiledFxGraph frkzujfb4e6rm3z4 ##"),
    )
    owner = owner_named(one, "CompiledFxGraph frkzujfb")
    assert (owner.kind, owner.type, owner.total_ps) == ("op", "CompiledFxGraph", 800_000_000)


def test_what_a_compiled_graph_calls_says_more_than_the_graph() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        G-----....G-----....
          "        .T--.......T--......
          "        ..I.........I.......
        """,
        G=event("## Call CompiledFxGraph frkzujfb4e6rm3z4 ##"),
        T=event("torch/triton_red_fused_mul_0:triton_red_fused_mul_0"),
        I=event("handing over"),
    )
    assert owner_named(one, "handing over").within == "torch/triton_red_fused_mul_0"
