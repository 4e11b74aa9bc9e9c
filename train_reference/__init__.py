"""A reference trainer that reads from top to bottom.

It uses vsebench's public names and is never imported by vsebench. Importing this package does not import
torch; its modules need the extra: ``pip install 'vsebench[train]'``.
"""
