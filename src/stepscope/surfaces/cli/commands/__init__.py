"""One command per file, named as it is called; ``COMMAND`` in each is what click runs.

A new command is a file here and a line below, with the first sentence of its help: lists of
commands import none of them. Import heavy modules inside of the command.
"""

from typing import Final

COMMANDS: Final[dict[str, str]] = {
    "show": "Show the answer of one tool.",
    "advise": "Recommend changes, largest saving first.",
    "sql": "Query a recording's tables with SQL (docs/sql.md).",
    "compare": "Compare runs, in parts that sum to the change of the step.",
    "check": "Fail when a run exceeds its limits (exit code 1) or the recordings cannot tell (5).",
    "ask": "Answer one question as short text, within a budget of tokens.",
    "explain": "Explain one finding, step, op, kernel or event.",
    "guide": "Print instructions for agents: the order of questions, units and outcomes.",
    "mcp": "Answer agents over the Model Context Protocol, read-only.",
    "pod": "Name the host, device or link that the others wait for, its cost and its cause.",
    "ranks": "Name the rank of a job that is slow, and since when, from its step logs.",
    "serve": "Serve the pages of all runs at a path, on this machine.",
    "ls": "List runs, hosts and files at a path, and why a file does not open.",
    "record": "Run and record a program; options come before its name.",
    "capture": "Record programs that run elsewhere, all at the same time, into a run of LOGDIR.",
    "attach": "Record a running process that did nothing for it.",
    "dump": "Write the last half minute of a program that has a flight recorder.",
    "monitor": "Show the activity of a running program, without recording it.",
    "doctor": "Check this machine, or a recording, for problems.",
    "loader": "Measure an input pipeline by itself, and compare it with the time of a step.",
    "export": "Write a recording, or a range of it, for other viewers.",
    "report": "Write the pages of a run as one file that opens anywhere, without Stepscope.",
    "repair": "Merge the chunks of a recording that was killed.",
    "cache": "List the cached recordings, or clear the cache.",
    "demo": "Show the diagnosis of a bundled recording, then serve its pages.",
    "version": "Print the version.",
}
