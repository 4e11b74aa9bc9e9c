"""What scenes add to vsebench: a source of test sets, judgements and gains. A plug-in, see ``vsebench.plugins``."""

from __future__ import annotations

from dataclasses import replace

from ..relevance import sources as relevance
from ..relevance.sources import Source
from ..sets import catalogue
from .entails import entailed, identity
from .sets import Scenes
from .shares import load_holds, load_match

ENTAILS = Source(
    name="entails",
    title="Entailment",
    meaning="every caption that is true of the image, of whichever image it was written; the complete gallery is "
    "ranked; scenes only",
    rule="the caption states at least one fact, and all of its facts hold in the scene of the image, from which "
    "judgements follow completely and without errors",
    cite="young2014denotations",
    grades=entailed,
    identity=identity,
    splits=("scenes-*",),
)

HOLDS = Source(
    name="holds",
    title="Facts of a caption that hold",
    meaning="how much of what a caption of scenes says is true of an image: 1 if and only if all of it is; exact for "
    "every pair",
    rule="matched / facts of the caption",
    low=0.0,
    high=1.0,
    needs="a split of scenes, such as scenes-10k-test (vsebench data build scenes-10k)",
    load=load_holds,
    cite="young2014denotations",
    captions="unused",
)

MATCH = replace(
    HOLDS,
    name="match",
    title="Match of captions and scenes",
    meaning="how many of the facts that a caption states hold in the scene of an image, and how many of the scene's "
    "facts it states: a true caption that says little has a small gain; exact for every pair",
    rule="2 matched / (facts of the caption + facts of the scene)",
    load=load_match,
    cite="cai2013smatch",
)

catalogue.register(Scenes())
relevance.register(ENTAILS, HOLDS, MATCH)
