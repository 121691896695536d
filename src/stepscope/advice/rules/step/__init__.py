"""Rules about the step as a whole: which part of it is the largest, whatever it is."""
