"""What to look at first about a part of the step: by its calls, names, traits, tables, shapes."""
