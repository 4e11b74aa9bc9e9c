"""Human judgements: reading them, the published protocols, and how far a relevance or a model agrees with people."""
