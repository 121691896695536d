"""``dev.py check`` calls this name; the rules are in ``prose.py``."""

import sys

from prose import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
