"""Rules about several devices and hosts: communication, balance, stragglers."""
