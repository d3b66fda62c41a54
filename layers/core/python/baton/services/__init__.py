"""What Baton does: load, decide, write conditionally on what was read, and on a lost race read again."""
