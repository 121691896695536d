"""What calls of libraries say by their names."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.hints.calls import of_call


@pytest.mark.parametrize(
    ("call", "is_most", "said"),
    [
        ("index", False, "a dict or a set"),
        ("time.sleep", True, "wait to be woken"),
        ("torch.tensor", True, "np.stack"),
        ("numpy.random.choice", True, "adds all of them up"),
        ("numpy.random.mtrand.permutation", True, "many batches at once"),
        ("random.choice", True, "draws whole arrays"),
        ("torchmetrics.compute", True, "once an epoch"),
        ("sklearn.roc_auc_score", True, "once an epoch"),
        ("sklearn.fit_transform", True, "a whole batch at once"),
        ("scipy.IndexMixin.__getitem__", True, "rows are found at once in CSR"),
        ("pandas.NDFrame.__getitem__", True, "a dict of row numbers"),
        ("pandas.DataFrame.iterrows", True, "calls Python for each row"),
        ("numpy.argsort", True, "np.argpartition"),
        ("json.loads", True, "parses the same again"),
        ("time.sleep", False, ""),
        ("torch.tensor", False, ""),
        ("json.dumps", True, ""),
        ("", True, ""),
    ],
)
def test_a_call_that_says_what_is_slow_has_its_own_advice(
    call: str, is_most: bool, said: str
) -> None:
    found = of_call(call, is_most=is_most)
    assert said in " ".join(found) if said else found == ()
