"""The two pages that need no built web files: no token, and not built. No script, no style."""

from __future__ import annotations

from html import escape

from werkzeug.wrappers import Response


def no_token_page(given: bool) -> Response:
    """What a browser without the right token sees."""
    why = (
        "The token in this address is not this server's." if given else "This page needs its token."
    )
    body = (
        f"<p>{why} Open the full address that <code>stepscope serve</code> printed in the "
        "terminal; "
        "a restarted server has a new one.</p>"
        '<p>If you already opened it in this browser: <a href="">open this page again</a>.</p>'
    )
    return _page("Stepscope needs its token", body, 403 if given else 401)


def not_built_page() -> Response:
    """What a browser sees when the web files are missing from the installation."""
    body = (
        "<p>The web pages were not built when this copy of Stepscope was installed; the "
        "recordings are served "
        "as JSON below <code>api/v1/</code> anyway.</p>"
        "<p>In a source checkout run:</p><pre>python3 dev.py web</pre>"
        "<p>For an installed package, install it again where node can be had (PyPI's node is "
        "enough):</p>"
        "<pre>pip install --force-reinstall --no-deps stepscope</pre>"
    )
    return _page("The web pages are not built", body, 503)


def _page(title: str, body: str, status: int) -> Response:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><meta name="viewport" '
        'content="width=device-width">'
        f"<title>{escape(title)}</title></head><body><h1>{escape(title)}</h1>{body}</body></html>"
    )
    response = Response(text, status, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    return response
