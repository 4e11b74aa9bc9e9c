"""The worker process that runs the SPICE parser in Java: a program that imports nothing of this package.

It is a separate process, so that a crash or a lack of memory ends one chunk and not the build. Requests and answers are
JSON lines on stdin and stdout:

- settings, answered by ``{}`` when the parser is ready, or ``{"fatal": reason}``
- ``{"captions": [...]}``, answered by
  ``{"results": [{"tuples": [...]} or {"broken": reason}], "synsets": {word: [ids]}}``

The official parser is called unchanged (Anderson et al., SPICE, ECCV 2016), without its cache and its writer, which
fail on a Java newer than 8.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PROBE = "a man is riding a brown horse"
ANNOTATORS = "tokenize,ssplit,parse,lemma"
# Without ExitOnOutOfMemoryError, CoreNLP catches a lack of memory and continues with a made-up parse tree.
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+ExitOnOutOfMemoryError",
    f"-XX:ErrorFile={os.devnull}",
    "-Dfile.encoding=UTF-8",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Djava.awt.headless=true",
)


def main() -> None:
    """Answer requests until stdin ends."""
    # Java prints to stdout and stderr: both go to stderr, and answers to the original stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    requests: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            requests.put(json.loads(line))
        os._exit(0)  # the parent has ended; Java may still be parsing

    threading.Thread(target=read, daemon=True).start()
    answer: dict[str, Any] = {}
    try:
        parse = start_java(requests.get())
    except Exception as error:
        answer = {"fatal": f"{type(error).__name__}: {error}"}
    while True:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        answer = parse(requests.get()["captions"])


def start_java(settings: dict[str, Any]) -> Callable[[list[str]], dict[str, Any]]:
    """Load Java and the models.

    Args:
        settings: ``library`` (path of the Java virtual machine), ``classpath`` (list of jars), ``heap`` (bytes) and
            ``threads``.

    Returns:
        A function from captions to the answer.

    Raises:
        Exception: of any class; Java does not start, or the parser fails on a simple sentence.
    """
    import jpype

    jpype.startJVM(settings["library"], *OPTIONS, f"-Xmx{settings['heap'] >> 20}m", classpath=settings["classpath"])
    properties = jpype.JClass("java.util.Properties")()
    properties.setProperty("annotators", ANNOTATORS)
    properties.setProperty("depparse.extradependencies", "MAXIMAL")
    pipeline = jpype.JClass("edu.stanford.nlp.pipeline.StanfordCoreNLP")(properties)
    annotation = jpype.JClass("edu.stanford.nlp.pipeline.Annotation")
    parser = jpype.JClass("edu.anu.spice.SpiceParser")(None, settings["threads"], True)
    to_tuples = _accessible(parser.getClass().getDeclaredMethod("parseAnnotation", annotation.class_))
    tuples_of = _accessible(to_tuples.getReturnType().getDeclaredField("tuples"))
    dictionary = _accessible(parser.getClass().getDeclaredField("synonyms")).get(parser)
    graph = jpype.JClass("edu.anu.spice.SceneGraph")(dictionary)
    string = jpype.JClass("java.lang.String")
    synset_method = _accessible(graph.getClass().getDeclaredMethod("getSynSets", string.class_))
    pool = ThreadPoolExecutor(settings["threads"])
    known: dict[str, list[int]] = {}

    def annotated(caption: str) -> Any:
        try:
            document = annotation(caption)
            pipeline.annotate(document)
        except Exception as error:
            return _reason(error)
        return document

    def tuples(document: Any) -> dict[str, Any]:
        if isinstance(document, str):
            return {"broken": document}
        try:
            found = tuples_of.get(to_tuples.invoke(parser, document))
            return {"tuples": [[str(word) for word in item] for item in found]}
        except Exception as error:
            return {"broken": _reason(error)}

    def synsets(word: str) -> list[int]:
        if word not in known:
            known[word] = sorted(int(i) for i in synset_method.invoke(graph, word))
        return known[word]

    def parse(captions: list[str]) -> dict[str, Any]:
        results = [tuples(document) for document in pool.map(annotated, captions)]
        items = [item for result in results for item in result.get("tuples", ())]
        used = {word for item in items for word in (*item[:2], *(w.removeprefix("be ") for w in item[2:]))}
        return {"results": results, "synsets": {word: synsets(word) for word in sorted(used)}}

    if why := parse([PROBE])["results"][0].get("broken"):
        raise RuntimeError(f"'{PROBE}' gives {why}")
    return parse


def _accessible(member: Any) -> Any:
    member.setAccessible(True)  # not public
    return member


def _reason(error: Exception) -> str:
    cause: Any = error
    while hasattr(cause, "getCause") and cause.getCause() is not None:  # an exception of Java
        cause = cause.getCause()
    return f"{type(cause).__name__}: {str(cause)[:200]}"


if __name__ == "__main__":
    main()
