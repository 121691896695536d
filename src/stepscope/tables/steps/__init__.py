"""Steps: where they begin and end, how far that can be believed, and where the time of each goes.

``markers`` chooses among what was ``marked`` and what is ``inferred`` (from the ``calls`` whose
rounds ``cycle`` finds), ``intervals`` says when each was worked on, ``attribution`` splits each
into disjoint parts that sum to it, ``session`` aligns those of several hosts.
"""
