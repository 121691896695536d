"""One file per tool; ``TOOLS`` is the one ordered list every surface is derived from."""
