"""Parts: the owners of a step's time put together to what a person would change, in words.

``parts`` joins owners, ``places`` says where one is, ``made_of`` what is in it, ``series`` how it
changes from step to step, ``what_if`` what the step takes without it; the rest each tells one
thing that a part's ops, calls and gradients have in common.
"""
