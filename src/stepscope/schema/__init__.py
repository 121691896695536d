"""What the bytes mean: field numbers, plane, line and stat names. Imports nothing."""
