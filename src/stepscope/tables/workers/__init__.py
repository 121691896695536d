"""Steps worker by worker: who waited for whom, and which event each moment belongs to."""
