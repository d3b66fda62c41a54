"""Checks of the gate that no library has."""
