"""The surfaces for people and programs: command line, HTTP, exports. No arithmetic on times."""
