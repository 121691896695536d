"""Traits of ops: what names, types, shapes, stacks and autograd tell of one, in any step.

An op's family, its line in the program, the op it is a gradient of, tensors that it makes larger
than its inputs. Nothing here knows of time on the loop's thread.
"""
