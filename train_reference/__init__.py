"""Reference training code, made of public names of vsebench; its modules need ``pip install 'vsebench[train]'``."""
