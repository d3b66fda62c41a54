"""``python -m infra.local``."""

from infra.local.command import app

if __name__ == "__main__":
    app()
