"""Functions of the program that stand for the ops they run, drawn as pictures of a traced loop."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, parts
from tests.profiles import event
from tests.profiles.drawing import Drawn
from tests.unit.tables.account.test_account import host

CALLS: dict[str, Drawn] = {
    "L": event("$train.py:50 main"),
    "F": event("$train.py:12 Net.forward"),
    "A": event("$train.py:30 train_accuracy"),
    "C": event("$train.py:40 chamfer"),
    "m": event("aten/mm:mm"),
    "r": event("aten/relu:relu"),
    "s": event("aten/sum:sum"),
    "k": event("aten/topk:topk"),
    "o": event("aten/sort:sort"),
}


def drawn(*lines: str) -> Host:
    """Two steps of 2 ms; ``lines`` are the thread's calls and ops, from the outside in."""
    text = "\n          ".join(f'"        {one}' for one in lines)
    return host(
        f"""
        /host:CPU
          python   S-------------------S-------------------
          "        L---------------------------------------
          {text}
        """,
        **CALLS,
    )


def made(one: Host) -> list[Part]:
    found = account(one)
    assert found is not None
    listed = parts(found)
    whole = int(found.found.duration_ps[found.found.kept].sum())
    assert sum(part.total_ps for part in listed) == whole
    return listed


def of_functions(one: Host) -> dict[str, float]:
    """Milliseconds by function that stands for its ops."""
    return {part.name: part.total_ps / 1e9 for part in made(one) if part.kind == "function"}


def test_a_function_that_only_passes_on_does_not_stand_for_what_it_calls() -> None:
    one = drawn(
        "..A-------------......A-------------....",
        "...C-----------........C-----------.....",
        "....mmmrrrsss...........mmmrrrsss.......",
    )
    assert of_functions(one) == {"chamfer": 1.8}


def test_a_decorator_stands_for_nothing() -> None:
    """What it decorates was compiled, so that no frame of it is below."""
    below = ("..W-------------......W-------------....", "...mmmmrrrssss.........mmmmrrrssss......")
    text = "\n          ".join(f'"        {one}' for one in below)
    for name, expected in (("wrapper", {}), ("Scope.wrapped", {}), ("wrap_all", {"wrap_all": 2.2})):
        one = host(
            f"""
            /host:CPU
              python   S-------------------S-------------------
              "        L---------------------------------------
              {text}
            """,
            **CALLS,
            W=event(f"$tools.py:292 {name}"),
        )
        assert of_functions(one) == expected, name


def test_what_a_package_of_models_puts_around_a_layer_stands_for_nothing() -> None:
    """Its decorator is around every layer, so that none of them has it to itself."""
    one = host(
        """
        /host:CPU
          python   S-------------------S-------------------
          "        L---------------------------------------
          "        T-------------T-----T-------------T-----
          "        .W------------.......W------------.......
          "        ..D----------..D---...D----------..D---..
          "        ...A--------....B-.....A--------....B-...
          "        ....mmmrrss......s......mmmrrss......s...
        """,
        **CALLS
        | {
            "T": event("$torch/nn/modules/module.py:1782 _call_impl"),
            "W": event("$transformers/modeling_layers.py:89 forward_with_checkpointing"),
            "D": event("$transformers/utils/deprecation.py:121 wrapped_func"),
            "A": event("$transformers/models/bert/modeling_bert.py:376 BertLayer.forward"),
            "B": event("$transformers/models/bert/modeling_bert.py:900 BertPooler.forward"),
        },
    )
    assert of_functions(one) == {"BertLayer.forward": 1.4}


def test_the_programs_layer_in_a_package_of_models_stands_for_what_it_does_there() -> None:
    """Two functions of the package call it, so that neither has it to itself."""
    files = {"m": "transformers/models/gpt2/modeling_gpt2.py:238 GPT2MLP.forward"}
    files["a"] = files["m"].replace("238 GPT2MLP", "144 GPT2Attention")

    def named(mlp: str, attention: str) -> dict[str, float]:
        one = host(
            """
            /host:CPU
              python   S-----------------------S-----------------------
              "        L-----------------------------------------------
              "        ..P---------Q---------....P---------Q---------..
              "        ..I---------I---------....I---------I---------..
              "        ..mmmmrrrrrrmmmmrrrrrr....mmmmrrrrrrmmmmrrrrrr..
            """,
            **CALLS
            | {
                "P": event(f"${mlp}"),
                "Q": event(f"${attention}"),
                "I": event("$lora.py:23 LoRA.forward"),
            },
        )
        return of_functions(one)

    assert set(named(files["m"], files["a"])) == {"LoRA.forward"}
    own = named("model.py:238 GPT2MLP.forward", "model.py:144 GPT2Attention.forward")
    assert set(own) == {"GPT2MLP.forward", "GPT2Attention.forward"}
