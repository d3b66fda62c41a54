"""What a deployed stack's own word and AWS's say of its health: ``baton doctor --aws``."""
