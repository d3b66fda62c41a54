"""DynamoDB Local, the real conditions, transactions and streams: fetched, launched and handed to tests.

Its licence forbids redistribution: it is fetched when a test needs it, and is never committed.
"""
