"""Running the official SPICE parser (Java) on captions.

- ``build``: parse the captions that the cache lacks, in chunks, around captions that the parser fails on
- ``process``: starting, asking and ending a worker process; ``worker``: that process, which runs Java
- ``install``: the jars: finding them, checking them, fetching CoreNLP
"""
