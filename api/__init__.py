"""The HTTP API: routes by noun, one error shape, nothing of the domain."""
