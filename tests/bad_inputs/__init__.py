"""Tables of what must be refused, and what the message says."""
