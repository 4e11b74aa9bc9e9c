"""Other implementations of the same metrics, written from their descriptions."""
