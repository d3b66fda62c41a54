"""Builds what is deployed, without Docker: each function's folder, the layer of core, the layer of what it needs."""
