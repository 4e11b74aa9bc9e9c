"""Reports: the document, the table layout and one renderer a format."""
