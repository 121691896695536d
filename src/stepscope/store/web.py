"""Folders of plain web servers: the files that an index page links to.

``python -m http.server``, nginx and Apache list a folder as a page of links. Of what a page links
to only what is right below its own folder counts: no other server, no way up, no query.
"""

from __future__ import annotations

import errno
import io
import posixpath
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from stepscope.records import dataclass, field
from stepscope.store.identify import promises
from stepscope.store.tree import Entry

#: How much of an index page is read, how many links of one count, and how many pages are read.
LARGEST_PAGE_BYTES: Final = 4 << 20
MOST_LINKS: Final = 20_000
MOST_PAGES: Final = 1_000
_MOST_LINKS_IN_ALL: Final = 200_000
_AT_ONCE: Final = 32
_PARTIAL: Final = 206
_VERSIONS: Final = ("ETag", "Last-Modified", "Content-MD5")


def is_web(system: Any) -> bool:
    """Whether a file system is a plain web server."""
    protocol = system.protocol
    return bool({"http", "https"} & {*([protocol] if isinstance(protocol, str) else protocol)})


def folder_of(info: dict[str, Any], path: str) -> str:
    """The URL of a folder's page, which ends in a slash, maybe after a redirect; "" for a file."""
    final = str(info.get("url") or path)
    is_same = _place(final)[0] == _place(path)[0]
    if info.get("mimetype", "text/html") != "text/html" or not is_same:
        return ""
    page = final.partition("?")[0].partition("#")[0]
    return page if page.endswith("/") else ""


def part(system: Any, path: str, begin: int, size: int) -> bytes:
    """Bytes of a file from a place on, and no more, also of a server that does not know ranges.

    Raises:
        OSError: It knows none, and the bytes are not at the begin.
    """
    ranged = {"Range": f"bytes={begin}-{begin + size - 1}", "Accept-Encoding": "identity"}
    # Of a known size nothing is asked before; it does not matter which.
    with system.open(path, "rb", block_size=0, size=1, headers=ranged) as stream:
        if begin and stream.r.status != _PARTIAL:
            raise OSError("the server gives files as a whole only")
        return _read(stream, size)


def _read(stream: Any, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = stream.read(size - len(found))
        if not piece:
            break
        found += piece
    return bytes(found)


class WebStream(io.RawIOBase):
    """A file as a server sends it, from begin to end."""

    def __init__(self, system: Any, path: str) -> None:
        super().__init__()
        whole = {"Accept-Encoding": "identity"}
        self._stream = system.open(path, "rb", block_size=0, size=1, headers=whole)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, as many as are there and fit."""
        room = memoryview(buffer).cast("B")
        piece: bytes = self._stream.read(len(room))
        room[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Ask for nothing more."""
        self._stream.close()
        super().close()


class _Links(HTMLParser):
    """Where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of ``<a href=…>``."""
        target = dict(attrs).get("href") if tag == "a" else None
        if target and len(self.found) < MOST_LINKS:
            self.found.append(target)


def links_below(page: str, text: str) -> dict[str, str]:
    """Names of what a page links to right below its folder, and their URLs.

    Args:
        page: Its URL, which ends in a slash.
        text: Its HTML.
    """
    parser = _Links()
    parser.feed(text)
    server, folder = _place(page)
    found: dict[str, str] = {}
    for target in parser.found:
        try:
            url = urljoin(page, target.strip())
            there, path = _place(url)
        except ValueError:  # a port that reads "x", and the like
            continue
        if there != server or not path.startswith(folder) or "?" in url or "#" in url:
            continue
        name = unquote(path[len(folder) :])
        stem = name.removesuffix("/")
        if stem in ("", ".", "..") or any(one in stem for one in "/\\\0"):
            continue
        found.setdefault(name, url)
    return found


def _place(url: str) -> tuple[tuple[str, str], str]:
    """The server and the path of a URL."""
    parts = urlsplit(url)
    return (parts.scheme.lower(), parts.netloc.lower()), parts.path


@dataclass(frozen=True)
class WebFolder:
    """Lists folders of a web server; sizes are asked for where a name may be a recording's."""

    system: Any
    _links: list[int] = field(default_factory=list, init=False, repr=False)

    def entries(self, folder: str) -> Iterator[Entry]:
        """Entries of a folder in name order; ``OSError`` where its page cannot be read."""
        if len(self._links) >= MOST_PAGES or sum(self._links) > _MOST_LINKS_IN_ALL:
            reason = f"more than {MOST_PAGES:,} pages, or too many links; open a folder further in"
            raise OSError(errno.EFBIG, reason)
        page = f"{folder.rstrip('/')}/"
        with self.system.open(page, "rb", block_size=0, size=1) as stream:
            text = _read(stream, LARGEST_PAGE_BYTES).decode("utf-8", "replace")
        links = sorted(links_below(page, text).items())
        self._links.append(len(links))
        files = [(name, url) for name, url in links if not name.endswith("/")]
        with ThreadPoolExecutor(_AT_ONCE, "stepscope-web") as pool:
            known = dict(zip(files, pool.map(self._file, files), strict=True))
        for name, url in links:
            if name.endswith("/"):
                yield Entry(url.rstrip("/"), name.rstrip("/"), "folder")
            else:
                yield known[name, url]

    def _file(self, link: tuple[str, str]) -> Entry:
        name, url = link
        if not promises(name):
            return Entry(url, name, "file")
        try:
            info = self.system.info(url)
        except OSError:
            return Entry(url, name, "file")
        return entry_of(info, url)


def entry_of(info: dict[str, Any], url: str) -> Entry:
    """A file of a web server, by what the server says of it."""
    size = info.get("size")
    name = unquote(posixpath.basename(urlsplit(url).path))
    version = " ".join(str(info[key]) for key in _VERSIONS if info.get(key))
    size_bytes = size if isinstance(size, int) and size >= 0 else -1
    return Entry(url, name, "file", size_bytes, _modified(info), version=version)


def _modified(info: dict[str, Any]) -> float:
    try:
        return parsedate_to_datetime(str(info["Last-Modified"])).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0
