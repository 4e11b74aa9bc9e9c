"""Other ways to get the same numbers, written anew from their descriptions."""
