"""PyTorch's profiler and the ways it must be handled: when it may begin, end and export."""
