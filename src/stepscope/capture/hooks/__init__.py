"""Hooks into training loops: each records some steps, prints a summary, and never raises."""
