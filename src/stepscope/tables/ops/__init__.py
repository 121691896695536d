"""Ops in sum: what each framework op and HLO op costs, and how near the device's peak it comes.

Reads the events of hosts and devices; does not know of steps.
"""
