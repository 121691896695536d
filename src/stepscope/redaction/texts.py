"""Which part of a text is the owner's, and what replaces it.

A text is read as runs of letters between everything else. A run stays when each of its words is
one that Stepscope's own code names (``words.py``); else the run becomes a pseudonym. Digits and
punctuation stay, so that what is parsed out of names (types, dimensions, layers) still parses.
"""

from __future__ import annotations

import hashlib
import re
import sys
from typing import Final

from stepscope.redaction.level import Level
from stepscope.redaction.words import WORDS

REMOVED: Final = "removed"
# Letters that spell no word; 8 of them are 35 bits.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz"
_LENGTH: Final = 8

_RUN = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
# Identities that are numbers: addresses, universally unique ids, long hexadecimal digests.
_IDENTITY = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b"
    r"|\b(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{16,}\b"
)
_PATH = re.compile(
    r"[A-Za-z][\w+.-]*://[^\s\"'<>|]+"  # a URL
    r"|(?<![\w)\]}])~?(?:/[^/\s:;,\"'()\[\]{}<>|=]+){2,}"  # from the root
    r"|(?<!\w)[A-Za-z]:\\[^\s\"'<>|]+|\\\\[^\s\"'<>|]+"  # of Windows
    r"|[^\s\"'<>|=,;()\[\]{}$]*[^\s\"'<>|=,;()\[\]{}$.]\.(?:py|pyx|ipynb|cc|cpp|cu|cuh|c|h|hpp|rs"
    r"|so|dll|tfrecords?|parquet|arrow|npz|npy|csv|tsv|json|yaml|yml|toml|txt|pb|ckpt|h5|hdf5|pt"
    r"|pth|safetensors|bin|pkl|jpe?g|png|wav|flac|mp4|zip|tar|gz|db|lmdb|sqlite)\b"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # a mail address
)
# Dimensions of a type, as HLO and PyTorch write them.
_SHAPE = re.compile(r"(?<=[a-z0-9])\[[\d,<=? ]*\](?:\{[^{}]*\})?|\[\s*\d+(?:\s*,\s*\d+)+\s*\]")
# A value of stats whose names say whose or where it is.
_PRIVATE = re.compile(
    r"command|cmd_?line|argv|user|login|home|host_?name|environ|\benv\b|uuid|serial|ip_?addr"
    r"|mac_?addr|cwd|working_?dir|log_?dir|password|secret|token\b|api_?key",
    re.IGNORECASE,
)


def is_private(stat: str) -> bool:
    """Whether the texts of a stat of this name are removed, whatever they say."""
    return bool(_PRIVATE.search(stat))


class RedactedTexts:
    """Texts with pseudonyms in them, the same for the same text."""

    def __init__(self, level: Level, key: bytes) -> None:
        self._level, self._key = level, key[:64]
        self._known: dict[str, str] = {}
        self._pseudonyms: dict[str, str] = {}

    @property
    def replaced(self) -> int:
        """How many distinct names have a pseudonym."""
        return len(self._pseudonyms)

    def name(self, text: str) -> str:
        """A name as the level leaves it."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._made(text)
        return found

    def strict(self, text: str) -> str:
        """A text of which only known words stay, at any level."""
        return _RUN.sub(self._run, _IDENTITY.sub(self._identity, text))

    def _made(self, text: str) -> str:
        if self._level == "paths":
            inside = _PATH.sub(lambda match: self.strict(match.group()), text)
            return _IDENTITY.sub(self._identity, inside)
        if self._level == "all":
            text = _SHAPE.sub("[]", text)
        return self.strict(text)

    def _run(self, match: re.Match[str]) -> str:
        run = match.group()
        if all(is_known(word) for word in _WORD.findall(run)):
            return run
        return self.pseudonym(run)

    def _identity(self, match: re.Match[str]) -> str:
        return self.pseudonym(match.group())

    def pseudonym(self, text: str) -> str:
        """What stands for a text, wherever it stands."""
        found = self._pseudonyms.get(text)
        if found is None:
            data = text.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
            number = int.from_bytes(digest, "little")
            letters = []
            for _ in range(_LENGTH):
                number, place = divmod(number, len(_LETTERS))
                letters.append(_LETTERS[place])
            found = self._pseudonyms[text] = "".join(letters)
        return found


def is_known(word: str) -> bool:
    """Whether a word tells nothing of whose program it is: one letter, or one of ours."""
    return len(word) < 2 or word.lower() in _KNOWN


_KNOWN: Final = WORDS | {
    part for module in sys.stdlib_module_names for part in re.findall(r"[a-z]+", module.lower())
}
