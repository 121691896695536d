"""One HTML file around an archive: the pages' own script and style, and a policy that binds both.

Nothing of the recording is in executable text: it is base64 in an element that no browser
runs. The policy names the one script and the one style by their hashes and allows no request.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Final

from stepscope.errors import StoreError

STATIC_FOLDER: Final = Path(__file__).parents[1] / "static"

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Stepscope {version}">
<title>Stepscope</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>
This report draws a profile with JavaScript, which is switched off here; needs a browser of 2023 or
later.
</noscript>
<script type="application/octet-stream" id="stepscope-report" data-manifest="{manifest}">{data}\
</script>
<script type="module">{script}</script>
</body>
</html>
"""


def html_page(version: str, manifest: str, data: str, static: Path = STATIC_FOLDER) -> bytes:
    """The whole file.

    Raises:
        StoreError: The web files are not built.
    """
    script = _built(static, "app-*.js")
    style = _built(static, "style-*.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data: blob:",
            "connect-src 'none'",
            "form-action 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    page = _PAGE.format(
        policy=policy,
        version=version,
        icon=base64.b64encode((static / "favicon.svg").read_bytes()).decode(),
        style=style,
        manifest=manifest,
        data=data,
        script=script,
    )
    return page.encode()


def _built(static: Path, pattern: str) -> str:
    """The one built file of this pattern, as text that does not end its element."""
    found = sorted((static / "assets").glob(pattern))
    if len(found) != 1:
        raise StoreError(
            "The web files are not built, and a report is made of them.",
            where=str(static),
            hint="Install a released wheel, or run `python3 dev.py web` in the checkout.",
            slug="no-web-files",
        )
    text = found[0].read_text("utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise StoreError(
            "A web file would end the element it is put in.",
            where=str(found[0]),
            hint="Build the web files again; report it if that does not help.",
            slug="no-web-files",
        )
    return text


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
