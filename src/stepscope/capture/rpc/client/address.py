"""Addresses of workers: ``host:port``, as people and launchers write them."""

from __future__ import annotations

import re

from stepscope.errors import UsageError
from stepscope.records import dataclass

_TPU_NAME = re.compile(r"(?=.*[a-z])[a-z0-9][a-z0-9-]*")
_SCHEMES = ("grpc://", "http://")
_MOST_NAME = 100  # of a host in a file name, which file systems limit to 255 bytes
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a worker's profiler listens.

    Attributes:
        host: Name or address, an IPv6 one without brackets.
        port: Port.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address in ``host:port``, ``[v6]:port`` or ``grpc://host:port``."""
        rest = text.strip()
        for scheme in _SCHEMES:
            rest = rest.removeprefix(scheme)
        host, colon, port = rest.rstrip("/").rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if bracketed:
            host = host[1:-1]
        whole = bool(colon and host) and port.isascii() and port.isdigit()
        if not whole or int(port) > 65535 or "/" in host or (":" in host and not bracketed):
            if _TPU_NAME.fullmatch(text.strip()):
                raise UsageError(
                    f"{text!r} may be the name of a TPU, and names are not looked up.",
                    why="Only Google Cloud knows the addresses of a TPU's workers.",
                    hint="Ask it for them (gcloud compute tpus tpu-vm describe NAME --zone ZONE), "
                    "and give ADDRESS:PORT with the port of the program's profiler server.",
                    slug="worker-address",
                )
            raise UsageError(
                f"{text!r} is not a worker address.",
                why="An address is HOST:PORT, such as 10.0.0.7:6009, [::1]:6009 or worker-3:6009.",
                hint="Give the port on which the program's profiler server listens.",
                slug="worker-address",
            )
        return cls(host, int(port))

    @property
    def file_stem(self) -> str:
        """The address as a file name: what TensorFlow's client names a worker's file."""
        return _UNSAFE.sub("_", f"{self.host[:_MOST_NAME]}_{self.port}").strip(".") or "worker"

    def __str__(self) -> str:
        return joined(self.host, self.port)


def parse_addresses(text: str) -> tuple[Address, ...]:
    """The addresses in a comma-separated list, each once, in the order given."""
    found = tuple(dict.fromkeys(Address.parse(each) for each in text.split(",") if each.strip()))
    if not found:
        raise UsageError(
            "No worker was named.",
            hint="Give HOST:PORT; separate several by commas.",
            slug="worker-address",
        )
    return found


def joined(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"
