"""The profiler's gRPC messages, their encoding, and the frames on the pipe to the sidecar."""
