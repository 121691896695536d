"""Many recordings of one job: who makes the others wait, what it costs, and why."""
