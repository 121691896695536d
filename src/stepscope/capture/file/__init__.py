"""The file of a recording: its place, its chunks as they are written, its planes merged."""
