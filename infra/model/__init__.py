"""Where a deployment breaks first as the load grows, by arithmetic: `python -m infra.model`."""
