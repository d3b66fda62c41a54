"""What is deployed, built: one folder for each function and layer."""
