"""Rules about device memory: how full, how fragmented, how much is left for a larger batch."""
