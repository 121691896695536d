"""A TPU's hardware counters: which number is which, and what they say of each unit."""
