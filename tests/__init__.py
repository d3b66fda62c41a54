"""The proof that Baton keeps its promises; README.md says what is in which room."""
