"""Speed and memory of vsebench, as ratios to the float32 product and to peers of the same run."""
