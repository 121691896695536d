"""``stepscope mcp``: the nine questions as tools of the Model Context Protocol, over stdio.

On the standard library alone: Stepscope is installed beside frameworks and must not move their
pins. What the protocol asks for is in ``protocol.py`` and nowhere else.
"""
