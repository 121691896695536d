"""Recording a running program. Empty so far: frameworks record with their own profilers."""
