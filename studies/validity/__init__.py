"""The validity study: which retrieval metric recovers the true order of systems? ``__main__`` runs it."""
