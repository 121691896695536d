"""What ran on the devices: kernels, copies and XLA ops, with what their names and launches tell."""
