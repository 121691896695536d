"""The tab of TensorBoard: the pages of Stepscope, mounted in its server.

TensorBoard finds the tab by its entry point wherever both are installed, and imports this module
when it starts. Nothing else of Stepscope is imported before the first look for recordings, and
that look happens beside TensorBoard's own work: a large or far log directory delays no other tab.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from collections.abc import Iterable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBLoader, TBPlugin
from werkzeug.wrappers import Request, Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from stepscope.session.workspace import Workspace
    from stepscope.store import Found
    from stepscope.surfaces.http import Application

_log = logging.getLogger(__name__)

NAME: Final = "stepscope"
# Where TensorBoard puts a plugin's routes.
_PREFIX: Final = f"/data/plugin/{NAME}"
# TensorBoard loads this into a frame of the tab and calls ``render``.
_ENTRY: Final = 'export const render = () => location.replace("index.html");\n'
# How long the list of tabs may wait for the first look; later ones answer what is known.
_PATIENCE_SECONDS: Final = 2.0


class Loader(TBLoader):  # type: ignore[misc]  # Any: TensorBoard is optional
    """What the entry point names: adds the flags and makes the plugin."""

    def define_flags(self, parser: ArgumentParser) -> None:
        """Flags of ``tensorboard``."""
        group = parser.add_argument_group("Stepscope")
        group.add_argument(
            "--stepscope_allow_capture",
            action="store_true",
            help="Let the tab record programs that run elsewhere into the log directory. Everyone "
            "who reaches this TensorBoard can then do so.",
        )

    def load(self, context: TBContext) -> Plugin:
        """The plugin of a TensorBoard that starts."""
        return Plugin(context)


class Plugin(TBPlugin):  # type: ignore[misc]  # Any: TensorBoard is optional
    """Serves the recordings below ``--logdir``."""

    plugin_name = NAME

    def __init__(self, context: TBContext) -> None:
        flags = context.flags
        self._logdir: str = context.logdir or ""
        self._spec: str = getattr(flags, "logdir_spec", "") or ""
        self._allow_capture = bool(getattr(flags, "stepscope_allow_capture", False))
        self._lock = Lock()
        self._looking = False
        self._looked = Event()
        self._workspace: Workspace | None = None
        self._application: Application | None = None

    def get_plugin_apps(self) -> dict[str, Any]:
        """What is served, below ``/data/plugin/stepscope``."""
        return {"/index.js": _entry, "/*": self._serve}

    def frontend_metadata(self) -> FrontendMetadata:
        """The name and entry of the tab; its pages know when to reload."""
        return FrontendMetadata(
            es_module_path="/index.js", tab_name="Stepscope", disable_reload=True
        )

    def is_active(self) -> bool:
        """Whether there is a recording; TensorBoard lists the tab as inactive until then."""
        self._look_beside()
        self._looked.wait(_PATIENCE_SECONDS)
        return self._allow_capture or bool(self._workspace and self._workspace.runs)

    def _serve(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request of the pages."""
        if not self._looked.is_set():
            self._look_beside()
            self._looked.wait()
        return self._mounted()(environ, start_response)

    def _mounted(self) -> Application:
        from stepscope.surfaces.http import Application, Settings
        from stepscope.surfaces.http.security import Guard

        with self._lock:
            if self._application is None:
                assert self._workspace is not None  # looked for before
                settings = Settings(mounted=True, prefix=_PREFIX, allow_capture=self._allow_capture)
                self._application = Application(self._workspace, Guard(settings, 0))
            return self._application

    def _look_beside(self) -> None:
        """Look for recordings in a thread of its own, unless one is looking."""
        with self._lock:
            if self._looking:
                return
            self._looking = True
        Thread(target=self._look, name="stepscope-look", daemon=True).start()

    def _look(self) -> None:
        from stepscope.session.workspace import Workspace

        try:
            if self._workspace is None:
                self._workspace = Workspace(_found(self._logdir, self._spec))
            else:
                self._workspace.follow()
        finally:
            self._looking = False
            self._looked.set()


@Request.application
def _entry(request: Request) -> Response:
    response = Response(_ENTRY, mimetype="text/javascript")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _found(logdir: str, spec: str) -> Found:
    """What is at the log directory; nothing, with the reason, where it cannot be searched."""
    from stepscope.errors import StoreError
    from stepscope.store import Found, search

    if not logdir:
        given = f"--logdir_spec {spec}" if spec else "no log directory"
        note = f"TensorBoard was started with {given}; recordings are looked for in --logdir."
        return Found(spec, (), (), folders=0, files=0, notes=(note,))
    try:
        return search(logdir)
    except StoreError as error:
        why = error.what
    except Exception as error:  # clients of clouds have errors of their own; it is looked again
        _log.warning("searching %s failed", logdir, exc_info=True)
        why = f"{type(error).__name__}: {error}"
    return Found(logdir, (), (), folders=0, files=0, notes=(why,))
