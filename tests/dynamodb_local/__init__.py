"""DynamoDB Local, the real conditions, transactions and streams: fetched, launched and handed to tests.

Its licence forbids redistribution, so it is fetched when a test needs it and never becomes part of the repository.
"""
