"""Recording from outside: reaching workers, recording many at once, writing what they answer."""
