"""DynamoDB, and nothing else: tables as data, rows and log items, and every condition that closes a race."""
