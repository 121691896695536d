"""One command per file, named as it is called; ``COMMAND`` in each is what click runs.

A new command is a file here and a line below. Import heavy modules inside of the command.
"""

COMMANDS: tuple[str, ...] = (
    "show",
    "advise",
    "sql",
    "compare",
    "check",
    "ask",
    "explain",
    "guide",
    "mcp",
    "pod",
    "serve",
    "ls",
    "record",
    "capture",
    "monitor",
    "doctor",
    "loader",
    "export",
    "report",
    "repair",
    "demo",
    "version",
)
