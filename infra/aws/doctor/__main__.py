"""``python -m infra.aws.doctor``."""

from infra.aws.doctor.command import app

if __name__ == "__main__":
    app(prog_name="baton doctor --aws")
