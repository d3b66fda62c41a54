"""Where Baton runs: the manifest of its functions and tables, the laptop and the deployment that run it."""
