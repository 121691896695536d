"""Steps: where they begin and end, where the time of each goes, and what the host did meanwhile.

``markers`` chooses among what was ``marked`` and what is ``inferred`` (from the ``calls`` whose
rounds ``cycle`` finds), ``intervals`` says when each was worked on, ``attribution`` splits each
into disjoint parts that sum to it, ``session`` aligns those of several hosts; the rest measures one
thing per step.
"""
