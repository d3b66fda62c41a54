"""The laptop: the manifest's functions behind a real HTTP server, on DynamoDB in process or elsewhere."""
