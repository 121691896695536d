"""Answers as pages of terminal text: lines of styled pieces, which notebooks draw as HTML."""
