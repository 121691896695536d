"""Gradients that a step could do without: computed for nothing, again, or prepared and unused."""
