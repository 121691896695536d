"""``stepscope mcp``: the nine questions as tools of the Model Context Protocol, over stdio.

With only the standard library: Stepscope is installed beside frameworks and must not move their
pins.
"""
