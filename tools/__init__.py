"""Programs for the developers of vsebench."""
