"""``baton worker MODULE``: serve the workflows of a module."""
