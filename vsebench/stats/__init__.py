"""Statistics over images: intervals, paired tests, corrections and agreement. Knows arrays, not metrics or files."""
