"""What happens in steps that are known: on the host, on devices and between them.

One file per question: examples, launches, copies, idle time, calls of Python, the optimizer's
updates. Each is counted per step, and knows nothing of how steps were found.
"""
