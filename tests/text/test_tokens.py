"""Tokenisers: the Penn Treebank one equals the Java original, and tokens of pieces equal those of the caption."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vsebench
from tests.gates import gate
from tests.messages import Refuses
from vsebench.errors import UsageError, VsebenchError
from vsebench.sets.stored import package_file
from vsebench.text import java as spice_java
from vsebench.text import ptb
from vsebench.text.java import find_java
from vsebench.text.ptb import TOKENISERS, tokenise
from vsebench.text.tokens import Tokens, from_lists, of_captions
from vsebench.types import Embeddings

JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
COMMAND = ("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase")


def java_tokens(captions: Sequence[str]) -> Tokens:
    """Lower-case tokens without punctuation, a line end being a space; skips without the package or Java."""
    jar = package_file("pycocoevalcap", JAR)
    if jar is None:
        pytest.skip("pycocoevalcap is not installed (pip install 'vsebench[text]')")
    try:
        java = next(iter(find_java().home.glob("bin/java*")))
    except VsebenchError as error:
        pytest.skip(error.what)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        path.write_bytes("\n".join(ptb.LINE_ENDS.sub(" ", caption) for caption in captions).encode("utf-8", "replace"))
        command = [str(java), "-Dfile.encoding=UTF-8", "-cp", str(jar), *COMMAND, str(path)]
        done = subprocess.run(command, capture_output=True, check=True)
    lines = done.stdout.decode("utf-8").split("\n")[: max(len(captions), 1)] if captions else []
    assert len(lines) == len(captions)
    # Tokens are separated by spaces; one that contains other white space (a tag, a telephone number) counts as several.
    kept = ([token for token in line.rstrip().split(" ") if token not in ptb.DROPPED] for line in lines)
    return from_lists(" ".join(tokens).split() for tokens in kept)


def test_tokens_are_flat_numbers() -> None:
    found = tokenise(["A dog, a dog", "", "The DOG ran."], "ptb")
    assert found.lists() == [["a", "dog", "a", "dog"], [], ["the", "dog", "ran"]]
    assert len(found) == 3 and found.length.tolist() == [4, 0, 3] and found.start.tolist() == [0, 4, 4, 7]
    assert found.word.dtype == np.int32 and len(set(found.words)) == len(found.words) == 4
    assert not found.word.flags.writeable and found.notes == ()


@pytest.mark.parametrize("how", list(TOKENISERS))
def test_captions_without_tokens(how: str) -> None:
    for captions in ([], [""], ["", " \t ", ""]):
        found = tokenise(captions, how)
        assert found.lists() == [[]] * len(captions) and len(found.word) == 0


def test_whitespace_keeps_punctuation_and_another_tokeniser_is_refused(refuses: Refuses) -> None:
    assert tokenise(["A man's  dog,\nran."], "whitespace").lists() == [["a", "man's", "dog,", "ran."]]
    refuses(UsageError, tokenise, [], "pbt")


@given(st.lists(st.lists(st.text(max_size=4), max_size=5), max_size=6))
def test_lists_come_back(lists: list[list[str]]) -> None:
    assert from_lists(lists).lists() == lists


def test_golden_captions(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("ptb_captions")
    captions, expected = case["inputs"]["captions"], case["expected"]
    assert len(captions) > 70
    for caption, tokens, want in zip(captions, tokenise(captions).lists(), expected, strict=True):
        assert (caption, tokens) == (caption, want)


def test_tokens_may_depend_on_the_next_caption() -> None:
    # As in the original: a single letter and a full stop before a word that opens a sentence is no initial.
    assert tokenise(["He has a Wii U.", "A man plays", "end"]).lists()[0][-1] == "u"
    assert tokenise(["He has a Wii U.", "", "A man plays", "end"]).lists()[0][-1] == "u"
    assert tokenise(["He has a Wii U.", "man plays", "end"]).lists()[0][-1] == "u."


# Tokens of the Java tokeniser where letters beyond ASCII, capitals in entities or a full stop after a token matter.
CLOSE_CASES = {
    "una cafetería/restaurante": "una cafetería / restaurante",
    "Schwarz/Weiß am Strand": "schwarz/wei ß am strand",
    "and/or 1/a a-b/c 1º/y": "and/or 1/a a-b/c 1º / y",
    "He said &quot;hi&quot; and &Quot;hi&QUOT; &quot;$": "he said hi and &quot; hi &quot; $",
    "A&AMP;B and A&amp;B": "a&b and a&b",
    "the '90sB. The": "the '90s b the",
    "the '90sB. man": "the '90s b. man",
    "'emNo. 1 'emNo. x": "'em no. 1 'em no x",
    "nat'lart. 5": "nat'l art. 5",
    "1.bz2 a.bz2 1.zip 4.pptx 4.ppt": "1 bz2 a.bz2 1.zip 4 pptx 4.ppt",
    "r-canada-u.s.r. x": "r-canada-u.s.r. x",
    "=.[^x= a <>] =.[^X=b": "=.[^x= a <>] = -lsb- ^ x = b",
}


def test_close_cases() -> None:
    assert {c: " ".join(tokenise([c, "end"]).lists()[0]) for c in CLOSE_CASES} == CLOSE_CASES


ALPHABETS = (
    "ab AB.,' \n",
    "aS'\"`n t-.,!",
    "19 5/-.,:()$%#'s",
    "a<b> /=\"'!&;gtlamp.",
    "ux.@:/wco mnet",
    "é ’‘“”–…½£\u00a0a.'-\t",
    "éß1a/-ªA.'\u00ad",
)
PIECES = st.sampled_from(
    ["A", "a.", "U.", "U.S.", "The", "the", "No.", "fig.", "3", "5", "7/8", "555", "1234", "(555)", "Inc.", "pty.",
     "ltd", "<a", "b>", ".", "..", ".5", "can't", "cannot", "'tis", "\n", "é", "x.", "In"]
)  # fmt: skip


@given(
    st.lists(
        st.one_of(*(st.text(alphabet=a, max_size=12) for a in ALPHABETS), st.lists(PIECES, max_size=6).map(" ".join)),
        max_size=5,
    )
)
def test_tokens_of_pieces_are_those_of_the_caption(captions: list[str]) -> None:
    whole = [ptb._without_punctuation(ptb.scan(*ptb._with_next(captions, i))) for i in range(len(captions))]
    assert tokenise(captions).lists() == whole


def test_uncertain_characters_are_noted() -> None:
    assert tokenise(["café “x” – ½ £5"]).notes == ()
    assert tokenise(["eine Straße", "日本 x", "x 😀"]).notes == (
        "2 captions hold characters whose tokens may differ from the Java tokeniser (U+65E5, U+672C, U+1F600)",
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part", ["a", "a&", "a.", "-", "'", "<a ", "<a  /", "www.", "a@", "1-", "1.", "&amp;", "\u00ad", ".?"]
)
def test_time_is_bounded_for_hostile_captions(part: str) -> None:
    for text in (part * 4000, part * 4000 + "!", "<" + part * 2000):
        assert sum(map(len, tokenise([text, "x"]).lists()[0])) <= 2 * len(text)


# Against the original.


def captions_of(folder: Path, name: str) -> list[str]:
    """All captions of one part of the data folder."""

    def lines(path: str) -> list[str]:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(folder / path, "rt", encoding="utf-8") as stream:  # type: ignore[operator]
            return list(stream)

    if name == "flickr8k":
        return [line.rstrip("\n").split("\t", 1)[1] for line in lines("flickr8k/Flickr8k.token.txt.gz")]
    if name == "f30k/train":
        return [caption for line in lines("f30k/train.jsonl.gz") for caption in json.loads(line)["captions"]]
    if name.startswith("xflickrco"):
        return [json.loads(line)["sentences"][0] for line in lines(f"{name}.jsonl.gz")]
    return [json.loads(line)["caption"] for line in lines(f"{name}.jsonl")]


def wrong(captions: list[str]) -> list[tuple[str, list[str], list[str]]]:
    """Captions whose tokens differ from those of the Java tokeniser, with both."""
    ours, theirs = tokenise(captions).lists(), java_tokens(captions).lists()
    return [(c, a, b) for c, a, b in zip(captions, ours, theirs, strict=True) if a != b]


SIZES = {
    "coco5k/captions": 25_000, "f30k/test": 5_000, "f30k/dev": 5_070, "f30k/train": 145_000, "flickr8k": 40_460,
    **{f"xflickrco/test_{language}": 2_000 for language in ("en", "de", "es", "id", "ja", "ru", "tr", "zh")},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.real_data
@pytest.mark.parametrize("name", gate(SIZES, "f30k/test", "xflickrco/test_tr"))
def test_real_captions(real_data: Path, name: str) -> None:
    captions = captions_of(real_data, name)
    assert len(captions) == SIZES[name]
    assert wrong(captions) == []


@pytest.mark.java
def test_golden_captions_and_close_cases_by_java(golden: Callable[[str], dict[str, Any]]) -> None:
    case = golden("ptb_captions")
    assert java_tokens(case["inputs"]["captions"]).lists() == case["expected"]
    captions = [line for case in CLOSE_CASES for line in (case, "end")]
    assert [" ".join(tokens) for tokens in java_tokens(captions).lists()[::2]] == list(CLOSE_CASES.values())


JOINTS = (
    "/", "\\/", "-", "'", "’", ".", ". ", "&", "&amp;", "&AMP;", "_", "@", "+", ",", ":", "–", "…", "(", ") ", '"',
    "&quot;", "&Quot;", "'s ", "'90s", "'90sB. ", "!", "#", "$", "€", "\u00ad", "\u00a0", "'n'", "--", "<", "</", "=",
    "~", "n't ",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.real_data
@pytest.mark.parametrize("language", gate(["de", "en", "es", "tr"], "es"))
def test_joined_words_of_real_captions(real_data: Path, language: str) -> None:
    rng = np.random.default_rng(5)
    words = [w for caption in captions_of(real_data, f"xflickrco/test_{language}") for w in caption.split()]
    captions = []
    for row in rng.integers(len(words), size=(20_000, 4)):
        first, second, third, last = (words[i] for i in row)
        one, two = (JOINTS[i] for i in rng.integers(len(JOINTS), size=2))
        captions.append(f"{first} {second}{one}{third.upper() if rng.random() < 0.1 else third}{two}{last}")
    assert wrong(captions) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("alphabet", gate(ALPHABETS[:3] + ALPHABETS[4:], ALPHABETS[0]))
def test_random_captions(alphabet: str) -> None:
    rng = np.random.default_rng(len(alphabet))
    letters = list(alphabet.replace("\n", ""))
    assert wrong(["".join(rng.choice(letters, rng.integers(1, 14))) for _ in range(20_000)]) == []


@pytest.mark.slow
@pytest.mark.java
def test_the_official_wrapper(golden: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    captions = golden("ptb_captions")["inputs"]["captions"]
    java_tokens([])  # skips without Java
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    java = spice_java.find_java().home / "bin"
    monkeypatch.setenv("PATH", str(java), prepend=":")
    theirs = PTBTokenizer().tokenize({i: [{"caption": c}] for i, c in enumerate(captions)})
    assert tokenise(captions).lists() == [theirs[i][0].split() for i in range(len(captions))]


ENGLISH = [f"a {a} is {b} near the {c}" for a in ("man", "dog") for b in ("running", "eating") for c in ("tree", "sea")]
CHINESE = ["一个戴着橙色线帽的白人", "两只狗在草地上奔跑", "一个女人在厨房里做饭", "街上有很多汽车", "海边的日落"] * 2
GERMAN = ["Der Mann trägt eine Mütze", "Zwei Hunde laufen über die Straße", "Ein Mädchen läuft für die Schule"] * 4


def evaluate(captions: list[str], **options: Any) -> vsebench.Report:
    n = len(captions)
    vectors = np.random.default_rng(0).standard_normal((n, 8))
    noisy = vectors + np.random.default_rng(1).standard_normal((n, 8))
    options = {"metrics": "cider:NCS@3,cider:CS@3", "captions_per_image": 1, "ci": 0, "trust": True} | options
    return vsebench.evaluate(vectors, noisy, captions=captions, **options)


@pytest.mark.parametrize(
    "captions,said",
    [
        (CHINESE, "cider: 100% of the letters of the captions are in a script without spaces between words, so the"),
        (GERMAN, "cider: 9% of the letters of the captions are not English (such as 'ü'), but the tokeniser"),
        (["a dog"] * 9 + ["a cat", "two men"], "cider: 9 of 11 sampled captions are the string 'a dog'"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_captions_whose_words_mean_little(captions: list[str], said: str) -> None:
    report = evaluate(captions)
    assert len([w for w in report.warnings if said in w]) == 1, report.warnings


def test_english_captions_give_no_warning() -> None:
    assert of_captions(ENGLISH * 3) == of_captions([]) == of_captions(["a dog"] * 5) == []
    assert not [w for w in evaluate(ENGLISH).warnings if "captions" in w]


def test_captions_with_spaces_between_words() -> None:
    segmented = ["一个 男人 骑 着 自行车", "两只 狗 在 草地 上 奔跑"] * 6
    assert [("without spaces" in found, "not English" in found) for found in of_captions(segmented)] == [(False, True)]


def test_captions_of_eight_languages(real_data: Path) -> None:
    found = {}
    for language in ("en", "de", "es", "id", "ja", "ru", "tr", "zh"):
        with gzip.open(real_data / "xflickrco" / f"test_{language}.jsonl.gz", "rt", encoding="utf-8") as stream:
            found[language] = of_captions([json.loads(line)["sentences"][0] for line in stream])
    assert [k for k, v in found.items() if v and "without spaces" in v[0]] == ["ja", "zh"]
    assert [k for k, v in found.items() if v and "not English" in v[0]] == ["de", "es", "ru", "tr"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gains_that_are_all_zero() -> None:
    said = "no pair has a gain above 0, so all values are 0; check what the gains are made from"
    report = evaluate(ENGLISH, gains=np.zeros((8, 8)), metrics="matrix:NCS@3,matrix:nDCG@3")
    assert f"matrix: {said}" in report.warnings
    assert report["matrix:NCS@3", "i2t"].value == 0
    some = np.zeros((8, 8))
    some[0, -1] = 0.5  # a gain that no ranking reaches is no reason to warn
    assert not [w for w in evaluate(ENGLISH, gains=some, metrics="matrix:SR@1").warnings if said in w]


def test_masked_entries_are_refused(refuses: Refuses) -> None:
    images = np.random.default_rng(0).standard_normal((4, 3))
    texts, mask = np.repeat(images, 5, axis=0), np.zeros((4, 3), bool)
    report = vsebench.evaluate(np.ma.masked_array(images, mask), texts, metrics="R@1", ci=0)
    assert report["R@1", "i2t"].value == 1
    mask[1, 2] = mask[3, 0] = True
    masked = np.ma.masked_array(images, mask)
    for call in (
        lambda: vsebench.evaluate(masked, texts), lambda: vsebench.evaluate(texts[::5], masked),
        lambda: vsebench.evaluate(scores=masked), lambda: vsebench.evaluate(images, texts, gains=masked, metrics="ncs"),
        lambda: vsebench.evaluate_unimodal(images, masked), lambda: Embeddings("image", np.arange(4), masked),
    ):  # fmt: skip
        refuses(UsageError, call)


@pytest.mark.parametrize("blank", [" {}", "{} ", "\t{}"])
def test_blanks_around_ids(tmp_path: Path, blank: str) -> None:
    images = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    texts = np.repeat(images, 2, axis=0)
    names = [f"img{i}" for i in range(6)]
    plain = {"image_ids": np.array(names), "text_ids": np.array([f"{n}#{k}" for n in names for k in (0, 1)])}
    spaced = {key: np.array([blank.format(x) for x in ids]) for key, ids in plain.items()}
    for name, ids in (("plain", plain), ("spaced", spaced)):
        np.savez(tmp_path / f"{name}.npz", images=images, texts=texts, image_of_text=np.repeat(np.arange(6), 2), **ids)
        queries = [blank.format(n) if name == "spaced" else n for n in names]
        lists = {query: [str(text)] for query, text in zip(queries, ids["text_ids"][::2], strict=True)}
        (tmp_path / f"{name}.json").write_text(json.dumps({"i2t": lists}))
    reports = [vsebench.evaluate(tmp_path / f"{n}.npz", metrics="R@1", ci=0, trust=True) for n in ("plain", "spaced")]
    assert reports[0].signature == reports[1].signature
    assert reports[0].items.rows.ids.tolist() == reports[1].items.rows.ids.tolist() == names
    split = reports[1].items
    for name in ("plain", "spaced"):
        listed = vsebench.evaluate(run={"i2t": tmp_path / f"{name}.json"}, split=split, metrics="R@1", ci=0, trust=True)
        assert listed["R@1", "i2t"].value == 1
    assert Embeddings("image", spaced["image_ids"], images).ids.tolist() == names
