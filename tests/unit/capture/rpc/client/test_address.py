"""Addresses of workers, and what is no address."""

import pytest

from stepscope.capture.rpc.client.address import Address
from stepscope.errors import UsageError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.7:6009", "10.0.0.7", 6009),
        ("[::1]:8466", "::1", 8466),
        ("grpc://worker-3:6009/", "worker-3", 6009),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize("name", ["my-tpu", "v5e-pod", "node1"])
def test_names_of_tpus_say_where_to_find_addresses(name: str) -> None:
    with pytest.raises(UsageError, match="may be the name of a TPU") as caught:
        Address.parse(name)
    assert "gcloud compute tpus" in caught.value.hint


@pytest.mark.parametrize("text", ["10.0.0.7", "worker:70000", "http://worker/x:1", ":6009"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="is not a worker address"):
        Address.parse(text)
