"""Files made from the registry: TypeScript types, Python methods, documents."""

from stepscope.surfaces.generate.outputs import outputs, repository, stale, write

__all__ = ["outputs", "repository", "stale", "write"]
