"""Two or more profiles side by side: where the difference of the step lies, and if it is real."""
