"""Baton's core: durable runs, their log, and their endings, over DynamoDB."""
