"""Being recorded from outside: the service in the program, and the process that speaks gRPC."""
