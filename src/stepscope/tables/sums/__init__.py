"""Sums over all hosts of a session, of the recording or of the mean step."""
