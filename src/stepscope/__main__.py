"""``python -m stepscope``."""

from stepscope.surfaces.cli import main

if __name__ == "__main__":
    main()
