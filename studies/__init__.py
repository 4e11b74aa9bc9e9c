"""Studies of the metrics and of the statistics: how valid a metric is, and how often an interval has the true value."""
