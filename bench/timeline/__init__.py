"""The timeline in a browser: what a picture costs, whole, tile by tile and frame by frame."""
