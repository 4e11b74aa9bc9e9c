"""Human judgements of similarity, and how well relevances and models correlate with them.

``study.correlate`` takes the name of the data (``cxc`` or ``flickr8k``), relevances by name, and
perhaps a file of embeddings; it returns a ``Result``::

    cxc, flickr8k        files of ratings ──► ratings
    protocols            ratings + split  ──► Task: rated pairs, references, human scores
    sources, models      Task             ──► values of a relevance, or similarities of a model, for the pairs
    coefficients         values + scores  ──► Pearson, Spearman and Kendall with jackknife intervals

- ``study``: the public function
- ``judgements``: finding the files of ratings, and reading their lines
- ``cxc``, ``flickr8k``: two sets of ratings
- ``protocols``: the published evaluation protocols
- ``sources``: relevances as functions of pairs
- ``models``: similarities of embeddings, and the sampled correlation of CxC
- ``coefficients``: correlations of points, and of those without an image or a pair
- ``correlation``: the result with its tables and charts
"""
