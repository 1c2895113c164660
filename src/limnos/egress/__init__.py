"""The one way out to the network: the only folder that uses an HTTP client."""
