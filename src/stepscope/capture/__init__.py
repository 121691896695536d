"""Recording a running program. Empty so far: programs record with their framework's own profiler."""
