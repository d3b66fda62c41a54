"""Races of real threads against DynamoDB Local: moto proves none."""
