"""Where time divides first between the calls of one function, from the loop inwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.traits.branches import Branches, CallLine, branches, chain_of

MAIN = CallLine("/home/me/train.py", 90, "main")
LOSS = CallLine("/home/me/train.py", 60, "loss")
AGAIN = CallLine("/home/me/train.py", 64, "loss")
NET = CallLine("/home/me/model.py", 20, "make.<locals>.net")
HEAD = CallLine("/home/me/model.py", 33, "head")
OTHER = CallLine("/home/me/other.py", 5, "other")


def test_two_passes_of_one_net_are_two_calls() -> None:
    inner = NET._replace(line=24)
    chains = [
        ((MAIN, LOSS, NET), 20.0),
        ((MAIN, LOSS, inner), 20.0),
        ((MAIN, AGAIN, NET), 30.0),
        ((MAIN, AGAIN, inner), 20.0),
    ]
    found = branches(chains, 100.0)
    assert found == Branches(
        "loss", ((AGAIN, "make.<locals>.net", 0.5), (LOSS, "make.<locals>.net", 0.4))
    )


def test_calls_of_different_functions_are_named_each() -> None:
    found = branches([((MAIN, LOSS, NET), 60.0), ((MAIN, AGAIN, HEAD), 30.0)], 100.0)
    assert found is not None
    assert found.calls == ((LOSS, NET.function, 0.6), (AGAIN, "head", 0.3))


def test_a_line_without_a_call_of_the_programs_is_named_alone() -> None:
    found = branches([((MAIN, LOSS), 60.0), ((MAIN, AGAIN, HEAD), 30.0)], 100.0)
    assert found is not None
    assert found.calls == ((LOSS, "", 0.6), (AGAIN, "head", 0.3))


def test_one_call_with_nearly_all_is_followed_inwards() -> None:
    inner = CallLine("/home/me/model.py", 24, "make.<locals>.net")
    chains = [((MAIN, LOSS, NET), 45.0), ((MAIN, LOSS, inner), 45.0), ((MAIN, AGAIN), 10.0)]
    found = branches(chains, 100.0)
    assert found is not None
    assert [frame.line for frame, _called, _share in found.calls] == [20, 24]


def test_nothing_is_said_where_nothing_divides_or_too_little_is_known() -> None:
    assert branches([((MAIN, LOSS), 90.0)], 100.0) is None
    assert branches([], 100.0) is None
    assert branches([((MAIN, LOSS), 25.0), ((MAIN, AGAIN), 25.0)], 100.0) is None
    # Lines of two functions are not calls of one.
    assert branches([((LOSS,), 50.0), ((OTHER,), 50.0)], 100.0) is None


def test_what_a_compiler_repeats_in_a_stack_counts_once() -> None:
    assert chain_of([NET, LOSS, MAIN, LOSS, MAIN]) == (MAIN, LOSS, NET)


FRAMES = st.sampled_from([MAIN, LOSS, AGAIN, NET, HEAD, OTHER])
CHAINS = st.lists(
    st.tuples(st.lists(FRAMES, max_size=4).map(chain_of), st.floats(0.1, 100.0)), max_size=12
)


@given(CHAINS)
def test_shares_are_of_the_whole_and_never_more(
    chains: list[tuple[tuple[CallLine, ...], float]],
) -> None:
    whole = sum(time for _chain, time in chains)
    found = branches(chains, whole)
    if found is not None:
        shares = [share for _frame, _called, share in found.calls]
        assert 0.6 - 1e-9 <= sum(shares) <= 1 + 1e-9
        assert shares == sorted(shares, reverse=True)
        assert len({frame for frame, _called, _share in found.calls}) == len(shares)
