"""The worker process that runs the SPICE parser in Java: ``python -m vsebench.relevance.spice.parser.worker``.

It is a separate process, so that a crash or a lack of memory ends one chunk and not the build. Requests and answers are
JSON lines on stdin and stdout:

- settings, answered by ``{"ready": version of Java}`` or ``{"fatal": reason}``
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
from typing import IO, Any

ANNOTATORS = "tokenize,ssplit,parse,lemma"
# Without ExitOnOutOfMemoryError, CoreNLP catches a lack of memory and continues with a made-up parse tree.
OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+ExitOnOutOfMemoryError",
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
    threading.Thread(target=_read_requests, args=(sys.stdin, requests), daemon=True).start()
    try:
        parse, version = start_java(requests.get())
    except Exception as error:
        _answer(answers, {"fatal": f"{type(error).__name__}: {error}"})
        return
    _answer(answers, {"ready": version})
    while True:
        _answer(answers, parse(requests.get()["captions"]))


def start_java(settings: dict[str, Any]) -> tuple[Callable[[list[str]], dict[str, Any]], str]:
    """Load Java and the models.

    Args:
        settings: ``library`` (path of the Java virtual machine), ``classpath`` (list of jars), ``heap`` (bytes),
            ``log`` (file for the crash report of Java) and ``threads``.

    Returns:
        A function from captions to the answer, and the version of Java.
    """
    import jpype

    options = [*OPTIONS, f"-Xmx{settings['heap'] >> 20}m", f"-XX:ErrorFile={settings['log']}"]
    jpype.startJVM(settings["library"], *options, classpath=settings["classpath"])
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

    def tuples(caption: Any) -> dict[str, Any]:
        if isinstance(caption, str):
            return {"broken": caption}
        try:
            found = tuples_of.get(to_tuples.invoke(parser, caption))
            return {"tuples": [[str(word) for word in item] for item in found]}
        except Exception as error:
            return {"broken": _reason(error)}

    def synsets(word: str) -> list[int]:
        if word not in known:
            known[word] = sorted(int(i) for i in synset_method.invoke(graph, word))
        return known[word]

    def parse(captions: list[str]) -> dict[str, Any]:
        from ..tuples import words

        results = [tuples(document) for document in pool.map(annotated, captions)]
        used = {word for result in results for item in result.get("tuples", ()) for word in words(tuple(item))}
        return {"results": results, "synsets": {word: synsets(word) for word in sorted(used)}}

    return parse, str(jpype.JClass("java.lang.System").getProperty("java.version"))


def _accessible(member: Any) -> Any:
    member.setAccessible(True)  # not public
    return member


def _reason(error: Exception) -> str:
    cause: Any = error
    while hasattr(cause, "getCause") and cause.getCause() is not None:  # an exception of Java
        cause = cause.getCause()
    return f"{type(cause).__name__}: {str(cause)[:200]}"


def _read_requests(stream: IO[str], requests: queue.Queue[dict[str, Any]]) -> None:
    for line in stream:
        requests.put(json.loads(line))
    os._exit(0)  # the parent has ended; Java may still be parsing


def _answer(stream: IO[str], document: dict[str, Any]) -> None:
    stream.write(json.dumps(document) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
