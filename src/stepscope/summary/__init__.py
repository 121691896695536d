"""One recording in less than a megabyte: what a pod needs to know of a file."""
