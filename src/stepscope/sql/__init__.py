"""SQL over a recording: documented tables, and a closed door for the queries of strangers."""
