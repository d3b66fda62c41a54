"""The worker: claims runs, performs them with the user's functions, and keeps what they have done."""
