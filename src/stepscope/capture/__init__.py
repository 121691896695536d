"""Recording a running program: recorders, the session that owns them, and the writer."""
