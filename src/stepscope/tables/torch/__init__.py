"""PyTorch's ops: which call launched what, with which shapes, and what such a call costs."""
