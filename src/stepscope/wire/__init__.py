"""Protobuf's wire format, read and written without the protobuf runtime.

For the few small messages that are not a recording's events: those have kernels of their own.
"""
