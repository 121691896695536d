"""One file per rule of advice, in a folder per subject; ``stepscope.advice.RULES`` lists them."""
