"""Rules about the work on the device: kernels, precision, copies, idle time."""
