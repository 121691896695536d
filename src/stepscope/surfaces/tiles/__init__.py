"""How the pages get a timeline, from a server or in a report: what is on it, and its tiles."""
