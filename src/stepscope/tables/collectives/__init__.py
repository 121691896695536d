"""Communication between devices, hosts and slices: who came late, and how long the transfer took.

Within a slice as the devices recorded it, between slices (DCN) as MegaScale's runtime noted it.
"""
