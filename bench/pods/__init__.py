"""Pods whose faults are known: simulated jobs, what was done to them, and whether it is found."""
