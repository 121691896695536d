"""Memory: allocator events, sampled counters, and what compiled programs plan to need."""
