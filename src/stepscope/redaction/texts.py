"""Which part of a text is the owner's, and what replaces it.

A text is read as chunks of letters and digits between ASCII punctuation. A chunk stays only if it
is made of words that Stepscope's own code names (``words.py``), of short numbers and of the types
and tiles that kernels are named by. Every other chunk, in whatever script or shape, becomes a
pseudonym of its kind, ``name_bcdfghjk`` or ``file_bcdfghjk.py``, and so do numbers that are long
enough to identify somebody.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from typing import Final, Literal

from stepscope.redaction.level import Level
from stepscope.redaction.words import WORDS
from stepscope.schema import names

REMOVED: Final = "removed"
# Letters that spell no word; 8 of them are 35 bits.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz"
_LENGTH: Final = 8
_MAX_DIGITS: Final = 6
_Kind = Literal["name", "file", "number"]

# Letters and digits, and everything beyond ASCII: letters of any script, marks, emoji, joiners.
_CHUNK = re.compile(r"[A-Za-z0-9\x80-\U0010ffff]+")
# Signs of our own texts.
_SIGNS: Final = frozenset("·×µ→…–—%°≤≥²")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Types, tiles and architectures in names of kernels and in HLO.
_NUMBERED = re.compile(
    r"[HDPA](?:to|2)[HDPA]|(?:bf|tf|fp|[fsiubc])(?:1|2|4|8|16|32|64|128)|(?:[BT]?Float|[Uu]?[Ii]nt)(?:4|8|16|32|64)"
    r"|e\dm\d(?:fn|fnuz)?"
    r"|\d{1,4}(?:x\d{1,4}){1,3}|sm\d{2,3}a?|gfx\d{1,4}[a-z]{0,2}|[1-5][dD]|v\d{1,2}|[xX]\d{1,2}"
    r"|[tnkmlhTNK]\d{1,3}|\d{1,6}(?:ul|u|l|f)|[if]2[if]|p2p"
    r"|[ABHLTVP]\d{1,3}|MI\d{2,3}[AX]?|G[BH]\d{3}|\d{2,3}GB|HBM\d?e?|SXM\d?"
)
# Letters one by one spell a name; two are a pair of arguments or a layout.
_SPELLED = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z](?:[^A-Za-z0-9\x80-\U0010ffff]{1,3}[A-Za-z]){2,}(?![A-Za-z0-9])"
)
# Telephone and card numbers, dates: many digits in groups.
_DIGITS = re.compile(
    r"(?<![A-Za-z0-9.])\+?\(?\d{1,19}\)?(?:[ .+-]{1,3}\d{1,19})+(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])\d{4}(?:_\d{4}){2,4}(?![A-Za-z0-9])"
)
# Sizes are figures of the profile.
_SIZES = re.compile(r"\[(?:\d{1,9}(?:, ?|(?=\])))+\]")
# Identities: network and hardware addresses, universally unique ids.
_IDENTITY = re.compile(
    r"\b\d{1,3}(?:[._-]\d{1,3}){3}\b"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b"
    r"|(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[-.]){5}[0-9a-fA-F]{2}(?![0-9A-Za-z])"
    r"|\b(?=[0-9]{0,64}[a-fA-F])(?=[a-fA-F]{0,64}[0-9])[0-9a-fA-F]{12,64}\b"
)
_ENDINGS: Final = (
    "py|pyx|ipynb|cc|cpp|cu|cuh|c|h|hpp|rs|so|dll|tfrecords?|parquet|arrow|npz|npy|csv|tsv|json"
    "|yaml|yml|toml|txt|pb|ckpt|h5|hdf5|pt|pth|safetensors|bin|pkl|jpe?g|png|wav|flac|mp4|zip|tar"
    "|gz|db|lmdb|sqlite"
)
_FILE_CHARS: Final = r"[^\s\"'<>|=,;()\[\]{}$]"
_IN_FOLDER: Final = r"[^/\s:;,\"'()\[\]{}<>|=]"
_PATH = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][\w+.-]{0,31}://[^\s\"'<>|]+"  # a URL
    # From the root; spaces are part of folders.
    rf"|(?<![\w)\]}}])~?(?:/{_IN_FOLDER}[^/\n:;,\"'()\[\]{{}}<>|=]{{0,254}}(?=/))+/{_IN_FOLDER}+"
    r"|(?<!\w)[A-Za-z]:\\[^\s\"'<>|]+|\\\\[^\s\"'<>|]+"  # of Windows
    rf"|(?<!{_FILE_CHARS}){_FILE_CHARS}{{1,1024}}"  # a word, if it is a file
)
_ENDING = re.compile(rf"\.(?:{_ENDINGS})(?![\w])")
_FILE = re.compile(rf".*[^.]\.(?:{_ENDINGS})(?![\w])", re.DOTALL)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}")
# May be the name of a machine.
_TOKEN = re.compile(r"[^\s,;:/@()=\[\]{}\"'<>|]+")
# Dimensions of a type, as HLO and PyTorch write them.
_SHAPE = re.compile(
    r"(?<=[a-z0-9])\[[\d,<=? ]{0,256}\](?:\{[^{}]{0,256}\})?"
    r"|\[\s{0,8}\d{1,19}(?:\s{0,8},\s{0,8}\d{1,19}){1,64}\s{0,8}\]"
)
# A value of stats whose names say whose or where it is.
_PRIVATE = re.compile(
    r"command|cmd_?line|argv|user|login|home|host_?name|environ|\benv\b|uuid|serial|ip_?addr"
    r"|mac_?addr|cwd|working_?dir|log_?dir|password|secret|token\b|api_?key|source_hashes",
    re.IGNORECASE,
)


def is_private(stat: str) -> bool:
    """Whether the texts of a stat of this name are removed, whatever they say."""
    return bool(_PRIVATE.search(stat))


def is_known_stat(stat: str) -> bool:
    """Whether a stat is one that frameworks and recorders write, and tools read."""
    return stat in _KNOWN_STATS and not is_private(stat)


class RedactedTexts:
    """Texts with pseudonyms in them, the same for the same text.

    Args:
        level: How much to take out.
        key: Makes pseudonyms.
        hosts: Machines that the recording names; they are replaced at every level.
    """

    def __init__(self, level: Level, key: bytes, hosts: Iterable[str] = ()) -> None:
        self._level, self._key = level, key[:64]
        self._hosts = frozenset(host.lower() for host in hosts if not is_known(host))
        self._known: dict[str, str] = {}
        self._pseudonyms: dict[tuple[_Kind, str], str] = {}
        self._made_up: set[str] = set()

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
        parts, at = [], 0
        for sizes in _SIZES.finditer(text):
            parts += [self._strict(text[at : sizes.start()]), sizes.group()]
            at = sizes.end()
        return "".join([*parts, self._strict(text[at:])])

    def _strict(self, text: str) -> str:
        text = _IDENTITY.sub(lambda match: self.pseudonym(match.group()), text)
        text = _SPELLED.sub(lambda match: self.pseudonym(match.group()), text)
        text = _DIGITS.sub(self._long_number, text)
        return _CHUNK.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        is_file = _ENDING.match(match.string, match.end())
        return self._chunk(match.group(), "file" if is_file else "name")

    def _made(self, text: str) -> str:
        if self._level == "paths":
            text = _PATH.sub(self._path, text)
            text = _MAIL.sub(lambda match: self.strict(match.group()), text)
            if self._hosts:
                text = _TOKEN.sub(self._host, text)
            return _IDENTITY.sub(lambda match: self.pseudonym(match.group()), text)
        if self._level == "all":
            text = _SHAPE.sub("[]", text)
        return self.strict(text)

    def _path(self, match: re.Match[str]) -> str:
        text = match.group()
        is_one = "://" in text or text[0] in "/~\\" or text[1:3] == ":\\" or _FILE.match(text)
        return self.strict(text) if is_one else text

    def _host(self, match: re.Match[str]) -> str:
        text = match.group()
        return self.pseudonym(text) if text.lower() in self._hosts else text

    def _long_number(self, match: re.Match[str]) -> str:
        text = match.group()
        return self._number(text) if sum(map(str.isdigit, text)) > _MAX_DIGITS else text

    def _chunk(self, chunk: str, kind: _Kind = "name") -> str:
        if chunk in self._made_up:
            return chunk
        if not chunk.isascii():
            kept = "".join(char for char in chunk if char not in _SIGNS)
            if not kept:
                return chunk
            if kept != chunk and kept.isascii():
                return "".join(
                    part if part in _SIGNS else self._chunk(part)
                    for part in re.split(f"([{''.join(sorted(_SIGNS - {'-'}))}])", chunk)
                )
            return self.pseudonym(chunk, kind)
        if chunk.isdigit():
            return chunk if len(chunk) <= _MAX_DIGITS else self._number(chunk)
        return chunk if is_known(chunk) else self.pseudonym(chunk, kind)

    def _number(self, text: str) -> str:
        """A number of six digits that stands for a longer one."""
        return self.pseudonym(text, "number")

    def pseudonym(self, text: str, kind: _Kind = "name") -> str:
        """What stands for a text, wherever it stands."""
        found = self._pseudonyms.get((kind, text))
        if found is None:
            data = text.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
            number = int.from_bytes(digest, "little")
            if kind == "number":
                found = str(10 ** (_MAX_DIGITS - 1) + number % (9 * 10 ** (_MAX_DIGITS - 1)))
            else:
                letters = []
                for _ in range(_LENGTH):
                    number, place = divmod(number, len(_LETTERS))
                    letters.append(_LETTERS[place])
                spelled = "".join(letters)
                self._made_up.add(spelled)
                found = f"{kind}_{spelled}"
            self._pseudonyms[kind, text] = found
        return found


def is_known(chunk: str) -> bool:
    """Whether letters and digits tell nothing of whose program it is: all of them are ours."""
    if len(chunk) == 1 or _NUMBERED.fullmatch(chunk):
        return True
    if chunk.lower() in _KNOWN:
        return True
    at = singles = 0
    has_digits = any(map(str.isdigit, chunk))
    while at < len(chunk):
        piece = _PIECE.match(chunk, at)
        if piece is None:
            return False
        text, numbered = piece.group(), _NUMBERED.match(chunk, at)
        is_word = len(text) > 1 and text.lower() in _KNOWN
        is_number = text.isdigit() and len(text) <= _MAX_DIGITS
        if numbered is not None and (numbered.end() > piece.end() or not (is_word or is_number)):
            at = numbered.end()
        elif is_word or is_number:
            at = piece.end()
        elif len(text) == 1 and len(chunk) > 3 and not has_digits:
            at, singles = piece.end(), singles + 1
        else:
            return False
    return singles <= 1


_KNOWN: Final = WORDS | {
    part for module in sys.stdlib_module_names for part in re.findall(r"[a-z]+", module.lower())
}
# Stats that frameworks and recorders write, beside those of ``schema.names``; others are names.
_LISTED_STATS: Final = """
Device _a _src algorithm all_reduce_unique_id autotune autotune_mode buffer_limit buffer_size
buffered_bytes_MB buffered_elements cacheConfig clock_rate compute_cap_major compute_cap_minor
context_id continuation copyCount core_count core_details core_type cost_per_unit cpu_budget
cpu_version cuda_driver_version cuda_runtime_version cupti_version device_type_string
device_vendor dims dispatch_id drop_remainder eager_op element_id element_size eventId eventSyncId
gpu_device_name gridId has_megacore has_merged_vmem hip_driver_version hip_runtime_version id
inner_block_elems inner_kernel_is_memcpy interleave_depth intra_op_parallelism iter_num
jax_version jaxlib_version kernel_type launchType layout localMemoryTotal long_name mangled_name
matrix_unit_utilization_percent max_batch_results max_parallelism memory_bandwidth memory_size
module_name nsight_export_schema nsight_systems_version num_compiled_functions num_default_parts
num_extra_parts num_symbols num_threads occupancy_min_grid_size occupancy_suggested_block_size
op_id parallelism parent_id peak_cmem_rd_bw_gigabytes_per_second
peak_cmem_wr_bw_gigabytes_per_second peak_hbm_bw_gigabytes_per_second
peak_sram_rd_bw_gigabytes_per_second peak_sram_wr_bw_gigabytes_per_second
peak_teraflops_per_second peak_vmem_rd_bw_gigabytes_per_second
peak_vmem_wr_bw_gigabytes_per_second prefix process_id python_caller_id queue_id
ram_budget_megabytes ram_usage_megabytes raw_bytes_accessed registers_per_core replica_id
roctracer_version scope_range_id sgpr_count shape_with_layout sharedMemoryExecuted
shared_memory_per_core short_name simds_per_core size step_id strides symbol_id symbol_type
theoretical_occupancy_pct threadpool_size threads_per_core total type value warm_start warp_size
"""
_STATS: Final = frozenset(_LISTED_STATS.split()) | {
    "Op count",
    "P State",
    "Time Scale Multiplier",
    "Trace iteration",
}
_KNOWN_STATS: Final = _STATS | {
    text
    for value in vars(names).values()
    for text in (value if isinstance(value, (tuple, frozenset)) else (value,))
    if isinstance(text, str)
}
