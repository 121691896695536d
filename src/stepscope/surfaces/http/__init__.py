"""The pages and the JSON API: one WSGI application, and a server for this machine."""

from stepscope.surfaces.http.app import Application
from stepscope.surfaces.http.server import Server, serve_forever
from stepscope.surfaces.http.settings import Settings

__all__ = ["Application", "Server", "Settings", "serve_forever"]
