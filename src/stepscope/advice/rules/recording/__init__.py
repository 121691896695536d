"""Rules about the recording itself: what it lacks that the numbers need."""
