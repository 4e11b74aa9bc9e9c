"""Reference training code: the losses of image-text matching.

It uses public names of vsebench and is never imported by vsebench. Importing this package does not import torch; its
modules need the extra: ``pip install 'vsebench[train]'``.
"""
