"""The timeline for the pages, from a server or in a report: contents and tiles."""
