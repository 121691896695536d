"""How a timeline is told to the pages, by a server or in a report: what is on it, and its tiles."""
