"""The pure middle: what runs and logs are, and what each command does to them. No clock, no I/O, no chance."""
