"""Rules about the host: launching, waiting, tracing, compiling, Python."""
