"""What one file is, by its name and first bytes: an XSpace, or which near miss.

A name that promises an XSpace (``*.xplane.pb``) is believed: if the bytes disagree, decoding
says where and why. Any other name needs bytes that read as the start of an XSpace.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Callable

from stepscope.formats import FORMATS, Format
from stepscope.records import dataclass
from stepscope.schema.xspace import Wire, XPlane
from stepscope.store.found import Miss
from stepscope.wire.read import fields, read_varint

HEAD_BYTES = 4096
_PLANE_FIELDS: dict[int, int] = {
    number: Wire.VARINT if number is XPlane.ID else Wire.LEN for number in XPlane
}
GZIP_MAGIC = b"\x1f\x8b"
_DLPROF = re.compile(r"dlprof|dldb", re.IGNORECASE)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
XSPACE = "xspace"

_XPLANE_NAME = re.compile(r"\.xplane\.pb(\.gz)?$", re.IGNORECASE)
ARCHIVE_NAME = re.compile(r"\.(zip|tar|tgz|tar\.(gz|bz2|xz|zst))$", re.IGNORECASE)
_PACKED = (b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\x00", b"7z\xbc\xaf")
_SUFFIX = re.compile(r"(\.xplane)?(\.pb)?(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A kind of file that belongs to profiling but is not an XSpace, known by its name.

    Names are compiled when a file is there that they could be of.
    """

    slug: str
    name: str
    reason: str
    hint: str


def _kind(slug: str, pattern: str, reason: str, hint: str) -> NearMiss:
    return NearMiss(slug, f"(?i){pattern}", reason, hint)


_LEGACY_TOOLS = (
    "overview_page|input_pipeline|input_pipeline_analyzer|kernel_stats|tensorflow_stats|tf_stats"
    "|framework_op_stats|op_stats|memory_profile|memory_viewer|pod_viewer|op_profile|hlo_stats"
    "|roofline_model|tf_data_bottleneck_analysis|inference_profile|graph_viewer"
)

_GIVE = (
    "Give a file of one of the formats in docs/importers.md, or record the program again: "
    "stepscope record train.py."
)

# First match wins, so a narrower name comes before a wider one.
BY_NAME: tuple[NearMiss, ...] = (
    _kind(
        "temporary-file",
        r"(\.(tmp|temp|part|partial|crdownload)(\.?[\w-]*)?|~)$",
        "A temporary file: its writer was stopped, or is still writing.",
        "Wait for the writer. If it is gone, rename the file to *.xplane.pb: whatever is "
        "whole in it is shown.",
    ),
    _kind(
        "riegeli",
        r"\.riegeli$",
        "A Riegeli container, which newer profilers write instead of .xplane.pb; this version "
        "reads protobuf only.",
        "Record with the .xplane.pb format, or convert it with the profiler that wrote it.",
    ),
    _kind(
        "viewer-cache",
        r"(\.sstable|\.ldb|\.op_stats_v2\.pb|\.dcn_collective_stats\.pb|\.smart_suggestion\.pb"
        r"|\.hlo_proto\.pb|\.cached_tools\.json|cache_version\.txt)$",
        "A cache another viewer made from a recording, not the recording.",
        "Open the .xplane.pb it was made from; it is, or was, in the same folder.",
    ),
    _kind(
        "tool-result",
        rf"\.({_LEGACY_TOOLS})(\.(pb|json))?(\.gz)?$",
        "The result of one tool, saved by an old TensorFlow (2.2 or before) or exported by a "
        "viewer; "
        "the events it was made from are not in it.",
        "Open the .xplane.pb of the same run, or record again with TensorFlow 2.3 or newer.",
    ),
    _kind(
        "event-file",
        r"(^|/)?events\.out\.tfevents\.",
        "A TensorBoard event file (scalars, graphs); since TensorFlow 2.2 it holds no profile.",
        "Look for plugins/profile/<run>/<host>.xplane.pb beside it; if there is none, the run "
        "was not profiled.",
    ),
    _kind(
        "nsight-report",
        r"\.(nsys-rep|qdrep)$",
        "A report of Nsight Systems in NVIDIA's own format; its export to SQLite opens.",
        "nsys export --type sqlite --lazy=true REPORT.nsys-rep, then open the .sqlite file.",
    ),
    _kind(
        "other-profiler",
        r"\.ncu-rep$",
        "A report of Nsight Compute: counters of single kernels, and no timeline.",
        "Record the program with nsys profile, then nsys export --type sqlite --lazy=true "
        "REPORT.nsys-rep, and open the .sqlite file.",
    ),
    _kind(
        "other-profiler",
        r"^perf\.data(\.old)?$",
        "A recording of Linux perf in its own format; what perf script prints of it opens.",
        "perf script -i perf.data > run.perf, then open run.perf.",
    ),
    _kind(
        "other-profiler",
        r"\.(rocpd|prof|pstat)$",
        "A recording of another profiler.",
        _GIVE,
    ),
)

_UNRELATED = (
    r"(?i)\.(py|pyc|txt|md|rst|csv|tsv|log|yaml|yml|toml|cfg|ini|sh|ipynb|png|jpe?g|gif|svg|pdf|html?|css|[jt]sx?"
    r"|so|a|o|c|cc|h|hpp|whl|zip|tar|tgz|bz2|xz|zst|npy|npz|h5|hdf5|keras|safetensors|ckpt|index"
    r"|data-\d+-of-\d+|tfrecord|parquet|arrow|pt|pth|pkl|lock)$"
)
_PROFILE_LIKE = r"(?i)(\.pb|\.xplane|\.pb\.gz|\.xspace|\.trace\.json(\.gz)?)$"


def host_of(name: str) -> str:
    """The host a file name stands for: the name without its ``.xplane.pb[.gz]``."""
    return _SUFFIX.sub("", name) or name


def promises_xspace(name: str) -> bool:
    """Whether the name alone says that the file is an XSpace."""
    return bool(_XPLANE_NAME.search(name))


def promises(name: str) -> bool:
    """Whether the name alone makes a recording likely enough to look into a file far away."""
    return promises_xspace(name) or any(one.promises(name) for one in FORMATS.values())


def examine(
    path: str, name: str, size_bytes: int, head: Callable[[int], bytes], *, named: bool = False
) -> Miss | str:
    """What a file is.

    Args:
        path: Where it is, for the report.
        name: Its last part.
        size_bytes: Size as stored.
        head: Reads this many of its first bytes; called only when the name does not settle it.
        named: The person named this very file, so even an unrelated one gets a reason.

    Returns:
        "xspace" or the id of one of ``FORMATS``, a ``Miss`` for a near miss, "" for a file of no
        interest.
    """
    if promises_xspace(name):
        if size_bytes == 0:
            return _empty(path)
        return _wrapped(path, name, size_bytes, head(HEAD_BYTES)) or XSPACE
    by_name = next((kind for kind in BY_NAME if re.search(kind.name, name)), None)
    promised = [one for one in FORMATS.values() if one.promises(name)]
    if by_name is not None:
        # "memory.prof" is what JAX's documentation calls its pprof profile, and cProfile its own.
        if by_name.slug == "other-profiler" and size_bytes:
            first = head(HEAD_BYTES)
            inner = inflate_head(first) if first.startswith(GZIP_MAGIC) else first
            if known := _known(promised, inner, head) or _by_content(path, size_bytes, inner):
                return known
        return Miss(path, by_name.slug, by_name.reason, by_name.hint, size_bytes)
    if ARCHIVE_NAME.search(name):
        return _archive(path, name, size_bytes, head, named=named)
    if re.search(_UNRELATED, name) and not named and not promised:
        return ""
    like = bool(re.search(_PROFILE_LIKE, name)) or named
    if size_bytes == 0:
        return _empty(path) if like else ""
    first = head(HEAD_BYTES)
    inner = inflate_head(first) if first.startswith(GZIP_MAGIC) else first
    # Text that begins with a quote may read as the start of an XSpace, so the name is heard first.
    known = _known(promised, inner, head)
    if known or starts_xspace(inner):
        return known or XSPACE
    if named:
        # Without a name's promise, a format with few marks may match another profiler's bytes.
        known = _by_content(path, size_bytes, inner) or _known([*FORMATS.values()], inner, head)
        if known:
            return known
    if not like:
        return ""
    titles = [one.title for one in promised]
    return _wrapped(path, name, size_bytes, first) or _unknown(path, size_bytes, inner, titles)


def _known(formats: list[Format], inner: bytes, head: Callable[[int], bytes]) -> str:
    """The first of these formats that a file starts as; "" for none.

    Most files of a folder are of no interest, so more of one is read once for all formats.
    """
    more = b""
    for one in formats:
        if one.starts(inner):
            return one.id
        more = more or _more(head, max(one.head_bytes for one in formats))
        if one.starts(more):
            return one.id
    return ""


def _more(head: Callable[[int], bytes], size: int) -> bytes:
    """More of a file's first bytes, inflated where need be."""
    first = head(size)
    return inflate_head(first, size) if first.startswith(GZIP_MAGIC) else first


def _empty(path: str) -> Miss:
    if not promises_xspace(path):
        return Miss(
            path,
            "empty-file",
            "The file has 0 bytes: its program ended before it was written, or the disk is full.",
            "Check the free space of the disk, and let the profiler end (its with block, or "
            "stop()) before the program does.",
            0,
        )
    return Miss(
        path,
        "empty-file",
        "The file has 0 bytes. TensorFlow and JAX write an empty file, and report success, if a "
        "recording exceeds protobuf's 2 GB or the disk is full.",
        "Record fewer steps, or lower the host and Python tracer levels; check the free space "
        "of the disk.",
        0,
    )


# First bytes of files, inflated if packed: the first match wins.
_CONTENT: tuple[tuple[str, bytes, str, str], ...] = (
    (
        "other-profiler",
        # A CPU profile of gperftools begins with words of 64 or 32 bits: 0, 3, 0.
        rb"\x00{8}\x03\x00{15}|\x00{4}\x03\x00{7}|heap profile:|heap_v2/"
        rb"|--- (?:heap|contention|thread)|threadcreate profile:|goroutine profile:",
        "A profile in a form that pprof had before its profile.proto; what pprof makes of it "
        "opens.",
        "pprof -proto BINARY FILE > FILE.pb.gz (or go tool pprof), then open FILE.pb.gz; a server "
        "in Go writes one that opens without ?debug=1.",
    ),
    (
        "other-profiler",
        rb"[{\xfb][)\xa9]\x03",  # a marshalled dict, whose first key has file, line and function
        "Statistics of cProfile or pstats: sums by function, without the time of any call.",
        "py-spy record -f speedscope -o train.speedscope.json -- python train.py, or stepscope "
        "record train.py.",
    ),
    (
        "other-profiler",
        rb"(?:# callgrind|version: \d+\ncreator:|events:)",
        "A callgrind profile: sums by function and line, without the time of any call.",
        "py-spy record -f speedscope -o train.speedscope.json -- python train.py, or stepscope "
        "record train.py.",
    ),
    (
        "other-profiler",
        rb"\x04\x22\x4d\x18.{0,24}mem|memray\x00|\s*\{\s*\"total_num_allocations\"",
        "A recording of memray: allocations of Python, without steps and ops.",
        "memray's own reports show it; for steps, ops and device memory, stepscope record "
        "train.py.",
    ),
    (
        "other-profiler",
        rb"\s*\{.*?\"target_description\"",
        "A session of pyinstrument in its own format; its export for speedscope opens.",
        "pyinstrument --load SESSION -r speedscope -o train.speedscope.json (or -r speedscope "
        "when recording).",
    ),
    (
        "other-profiler",
        rb"\s*\{\s*\"alloc_samples\":",
        "A profile of Scalene: shares by line, without the time of any call.",
        "py-spy record -f speedscope -o train.speedscope.json -- python train.py, or stepscope "
        "record train.py.",
    ),
    (
        "other-profiler",
        rb"\s*\{\s*\"schema\": *\"[^\"]*chakra",
        "An execution trace of PyTorch (Chakra): its graph of ops, without their times.",
        "Record a trace beside it: torch.profiler.profile(), then export_chrome_trace(PATH).",
    ),
    (
        "other-profiler",
        rb"\[\[-?\d+, *-?\d+, *-?\d+",
        "A memory timeline of torch.profiler: sizes by category, without ops and stacks.",
        "torch.cuda.memory._dump_snapshot(PATH), or profile(profile_memory=True) with "
        "export_chrome_trace(PATH).",
    ),
    (
        "other-profiler",
        rb"\n.{1,4}\n.{1,4}\n.{1,2}/(?:job|device|host):",
        "RunMetadata or StepStats of TensorFlow 1: one run of a graph.",
        "timeline.Timeline(metadata.step_stats).generate_chrome_trace_format() makes a trace "
        "that opens.",
    ),
    (
        "other-profiler",
        rb"\x80[\x02-\x05].{0,20}tracemalloc",
        "A snapshot of tracemalloc: allocations of Python, without steps and ops.",
        "For steps, ops and device memory, stepscope record train.py.",
    ),
    (
        "other-profiler",
        rb"==\d+== |\"Type\",\"Time\(%\)\"|\"Time\(%\)\",\"Time\"",
        "A report of nvprof: sums by kernel and call, without the time of any event.",
        "Record with nsys profile, and export with nsys export --type sqlite.",
    ),
    (
        "other-profiler",
        rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE svg|<svg)",
        "A drawing (SVG), as of a flame graph, not the recording that it was made of.",
        "Write the stacks instead: py-spy record -f speedscope, or the collapsed file that "
        "flamegraph.pl reads.",
    ),
    (
        "lfs-pointer",
        rb"version https://git-lfs",
        "A Git LFS pointer: the recording itself was not downloaded.",
        "Run `git lfs pull` in that repository.",
    ),
    (
        "html-page",
        rb"(?i)\s*<(?:!DOCTYPE|html)",
        "A web page: a report that a profiler drew, or a login in place of a download.",
        "Give the recording that the report was made of, or download the file again, signed in.",
    ),
    (
        "sqlite",
        rb"SQLite format 3\x00",
        "An SQLite database, but none whose tables are a profiler's that is read here.",
        "Give an export of Nsight Systems (nsys export --type sqlite), a database of rocprofv3 or "
        "rocprof, or another of the formats in docs/importers.md.",
    ),
)


def _by_content(path: str, size_bytes: int, inner: bytes) -> Miss | None:
    """A file of no format that is read, which its first bytes name; inflated where packed."""
    if inner.startswith(b"SQLite") and (
        _DLPROF.search(path.rpartition("/")[2]) or _DLPROF.search(str(inner))
    ):
        return Miss(
            path,
            "other-profiler",
            "A database of DLProf, which NVIDIA no longer develops: sums by op and iteration.",
            "Open what it was made of: nsys export --type sqlite nsys_profile.qdrep.",
            size_bytes,
        )
    for slug, pattern, reason, hint in _CONTENT:
        if re.match(pattern, inner, re.DOTALL):
            return Miss(path, slug, reason, hint, size_bytes)
    return None


def _archive(
    path: str, name: str, size_bytes: int, head: Callable[[int], bytes], *, named: bool
) -> Miss | str:
    """An archive, by its name: of interest where it was asked for, or holds recordings."""
    from stepscope.store import archives

    inner = _more(head, archives.HEAD_BYTES) if size_bytes else b""
    first = head(HEAD_BYTES) if size_bytes else b""
    if named and not size_bytes:
        return _empty(path)
    if not named and not archives.recordings(inner):
        return ""
    found = archives.archive(path, ARCHIVE_NAME.sub("", name), size_bytes, first, inner)
    return found or _unknown(path, size_bytes, inner, [])


def _wrapped(path: str, name: str, size_bytes: int, first: bytes) -> Miss | None:
    """A file whose first bytes name another format, whatever it is called."""
    inner = inflate_head(first) if first.startswith(GZIP_MAGIC) else first
    if known := _by_content(path, size_bytes, inner):
        return known
    if not first.startswith(_PACKED) and inner[257:262] != b"ustar":
        return None
    from stepscope.store.archives import archive

    return archive(path, ARCHIVE_NAME.sub("", name), size_bytes, first, inner)


def _unknown(path: str, size_bytes: int, first: bytes, promised: list[str]) -> Miss:
    """A file that no format knows by its bytes, though these formats know its name."""
    if first.lstrip()[:1] in (b"{", b"["):
        return Miss(
            path,
            "json-file",
            "A JSON file, but not a trace: it has no traceEvents.",
            "Give a trace of torch.profiler (*.pt.trace.json) or a recording of TensorFlow or JAX "
            "(<host>.xplane.pb). docs/importers.md lists the other formats.",
            size_bytes,
        )
    if not first:
        return Miss(
            path,
            "not-an-xspace",
            f"The gzip stream is cut or damaged: nothing of its {size_bytes:,} bytes inflates.",
            "Copy the file again; if its program was killed, record again.",
            size_bytes,
        )
    if first.startswith(_UTF16):
        return Miss(
            path,
            "not-an-xspace",
            "A text in UTF-16, as PowerShell's > writes; recordings are read in UTF-8.",
            "iconv -f UTF-16 -t UTF-8 FILE > NEW writes one that opens.",
            size_bytes,
        )
    shown = first[:8].hex(" ")
    return Miss(
        path,
        "not-an-xspace",
        f"By its name it may be: {', '.join(promised)}. Its first bytes ({shown}) say otherwise."
        if promised
        else f"The first bytes ({shown}) are not the start of an XSpace or of another format.",
        "Copy or record it again, and give it the name its writer gave it."
        if promised
        else "Give a file that a profiler wrote: <host>.xplane.pb of TensorFlow or JAX, "
        "*.pt.trace.json of PyTorch, or one of docs/importers.md.",
        size_bytes,
    )


def inflate_head(first: bytes, size: int = HEAD_BYTES) -> bytes:
    """As much as the first bytes of a gzip stream inflate to; empty if they are broken."""
    try:
        return zlib.decompressobj(wbits=31).decompress(first, size)
    except zlib.error:
        return b""


def starts_xspace(first: bytes) -> bool:
    """Whether bytes read as the start of an XSpace: a plane whose fields are a plane's."""
    tag, view = first[:1], memoryview(first)
    if tag not in (b"\x0a", b"\x22"):
        return False
    try:
        length, at = read_varint(view, 1, len(first))
    except ValueError:
        return False
    if tag == b"\x22":
        return 0 < length < 256 and at + length < len(first) and first[at + length] in b"\x0a\x22"
    return _reads_as_plane(view[at : at + length])


def _reads_as_plane(view: memoryview) -> bool:
    """Whether the first bytes of a message are fields of a plane, its name among them."""
    named = False
    with contextlib.suppress(ValueError):  # the bytes end inside a field: they are the first few
        for field in fields(view):
            if _PLANE_FIELDS.get(field.number) != field.wire:
                return False
            if field.number == XPlane.NAME:
                text = bytes(view[field.payload : field.end])
                if b"\0" in text or not text[:1].isascii():
                    return False
                named = True
    return named
