"""What a person or program touches: command line, HTTP, exports. No arithmetic on times."""
