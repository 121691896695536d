"""Throwing broken bytes at the decoder."""
