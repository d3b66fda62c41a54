"""What Baton tells others than DynamoDB: timers, the event bus, its own functions. Nothing rests on it."""
