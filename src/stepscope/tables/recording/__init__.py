"""The recording as a whole: what ran, whether it is complete, and the tables people query."""
