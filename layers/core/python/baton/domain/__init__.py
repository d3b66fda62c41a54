"""The pure middle: what runs and logs are, and what each command does to them. Time is handed in."""
