"""Every Python call, exactly: how it is heard of, kept, and turned into slices.

``log`` keeps what is heard of, ``monitoring`` (Python 3.12 and later) and ``setprofile`` (before)
hear of it, ``pairs`` makes slices of begins and ends, ``wanted`` says which functions count.
"""
