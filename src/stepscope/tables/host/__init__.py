"""What ran on the host's threads: every event's meaning by its name, framework ops, input ops."""
