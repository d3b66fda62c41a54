"""Builds what is deployed, without Docker: the functions' folders and the two layers that they share."""
