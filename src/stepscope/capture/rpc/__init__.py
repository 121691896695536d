"""Recording from outside: the profiler's gRPC service in both directions."""
