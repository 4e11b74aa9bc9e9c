"""Retrieval inside one modality: lists judged by continuous labels, and CxC image-image and text-text retrieval."""
