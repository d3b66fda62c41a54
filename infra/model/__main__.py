"""``python -m infra.model``."""

from infra.model.command import app

if __name__ == "__main__":
    app(prog_name="python -m infra.model")
