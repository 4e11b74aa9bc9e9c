"""The page of reports: what is in it, what a browser shows of it, and that nothing in it is markup from outside."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
import sys
import tarfile

import numpy as np
import pytest

import vsebench as vb
from tests import browser as browsers
from tests.commands import cli, refused
from vsebench.analysis import page_queries, systems, thumbnails
from vsebench.errors import BadInput, UsageError, printable
from vsebench.results import page as pages
from vsebench.results.charts import Mark, Panel, write

IMAGES, PER = 12, 3
HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(2)"> "quotes" & \'ticks\' `code` ${template}',
    "\u202eright to left override \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "line\u2028separator\u2029and \x1b[31mred\x1b[0m\x07",
    "emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 and a surrogate \ud83d",
    "w" * 10_000,
    "long words " * 1_000,
    "]]> --> <!-- &lt;b&gt; %s {{ x }}",
)
CAPTIONS = [HOSTILE[i] if i < len(HOSTILE) else f"caption number {i} of a dog" for i in range(IMAGES * PER)]
NAMES = ("<script>alert('name')</script>", 'b" onmouseover="alert(3)', "\u202e" + "c" * 10_000)
GAINS = np.random.default_rng(3).random((IMAGES, IMAGES * PER)).astype(np.float32)
OWNER = np.repeat(np.arange(IMAGES), PER)
GAINS[OWNER, np.arange(IMAGES * PER)] = 1.0


def scores(noise, seed):
    return np.eye(IMAGES)[:, OWNER] + noise * np.random.default_rng(seed).standard_normal((IMAGES, IMAGES * PER))


def report(noise, seed=0, **options):
    given = {"metrics": "R@1,R@5,MedR,MeanR,NCS@1,NCS@5", "gains": GAINS, "lists": 5, "resamples": 50, "trust": True}
    return vb.evaluate(scores=scores(noise, seed), captions_per_image=PER, **{**given, **options})


@pytest.fixture(scope="module")
def reports():
    return {name: report(noise, seed) for seed, (name, noise) in enumerate(zip(NAMES, (0.2, 0.5, 0.9), strict=True))}


@pytest.fixture(scope="module")
def page(reports):
    return vb.page(reports, captions=CAPTIONS, resamples=50)


@pytest.fixture(scope="module")
def written(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    page.save(path)
    return path


def plain(tmp_path, **options):
    path = tmp_path / "plain.html"
    texts = [f"caption {i} of a {'dog' if i % 2 else 'cat'}" for i in range(IMAGES * PER)]
    vb.page({"model": report(0.6, **options)}, captions=texts, resamples=50).save(path)
    return path


# ---- the page without a browser


def test_what_the_page_has(page):
    assert page.settings["parts"] == ["Summary", "Agreement of metrics", "Signature and provenance"]
    assert page.settings["charts"] == ["gt-r-k", "gt-r-1-by-mean-words-in-the-caption"]
    assert data_of(page)["metric"] == "matrix:NCS@5" and page.settings["explorer"]["items"] == 5
    assert "<b>" in page.to_html() and "[" in str(page)  # the best in bold, with intervals


def test_the_summary_has_intervals_and_marks(page, reports):
    first = next(iter(reports.values()))["R@1", "t2i"]
    low, high = (f"{100 * end:.2f}" for end in first.interval)
    table = page.tables[0]
    place = next(i for i, x in enumerate(table.columns) if x.fields == {"metric": "R@1", "direction": "t2i"})
    cell = table.cells[0][place]
    assert cell.text == f"{100 * first.value:.2f}" and cell.aside == f"[{low}, {high}]"
    assert cell.best and cell.mark == "c"  # the second is no worse with certainty


def test_curves_have_the_numbers_of_the_reports(page, reports):
    """Points are what was measured; the line between them has the recall of the ranks."""
    panel = page.panels[0]
    for i, found in enumerate(reports.values()):
        for way, group in (("i2t", "image→text"), ("t2i", "text→image")):
            marks = [m for m in panel.marks if (m.system, m.group) == (i, group)]
            measured = {k: found[f"R@{k}", way] for k in (1, 5)}
            dots = [(m.x, m.value, m.interval) for m in marks if m.dot]
            assert dots == [(k, r.value, r.interval) for k, r in measured.items()]
            line = {m.x: m.value for m in marks if not m.dot}
            assert all(line[k] == r.value for k, r in measured.items())
            assert line[7] == np.mean(found["MedR", way].per_query <= 7) and max(line) <= IMAGES * PER


def test_a_metric_that_is_another_by_definition_appears_once():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((30, 8))
    texts = images + rng.standard_normal((30, 8))
    names = "R@1,Recall@1,R-P,mAP@R,mAP,MRR,matrix:NCS@1,matrix:nDCG@1,matrix:nDCG@2"
    same = {"metrics": names, "gains": rng.random((30, 30)), "ci": 0}
    one = vb.evaluate(images, texts, captions_per_image=1, **same)
    for twin, other in (("Recall@1", "R@1"), ("R-P", "R@1"), ("mAP@R", "R@1"), ("mAP", "MRR")):
        assert np.array_equal(one[twin, "i2t"].per_query, one[other, "i2t"].per_query)
    assert np.array_equal(one["nDCG@1", "t2i"].per_query, one["NCS@1", "t2i"].per_query)
    for given in ({"a": one}, {"a": one, "b": one}):
        found = vb.page(given, resamples=20)
        rows = (r for name, of in found.to_dict()["tables"].items() if name in ("results", "values") for r in of)
        assert {r["metric"].removeprefix("matrix:") for r in rows} == {"R@1", "MRR", "NCS@1", "nDCG@2"}
        assert "once: Recall@1 i2t (R@1), Recall@1 t2i (R@1), R-P i2t (R@1)" in found.notes[0]
    assert len(vb.page(one, metrics="R@1,R-P", resamples=20).tables[0].rows) == 2, "they were named"
    five = vb.evaluate(images[:6], texts, captions_per_image=5, **same | {"gains": rng.random((6, 30)), "trust": True})
    ways = [r["direction"] for r in vb.page(five, resamples=20).records() if r["metric"] == "Recall@1"]
    assert ways == ["i2t"], "an image has five positives"


def data_of(page):
    """The data of single queries that the script of a page reads."""
    return json.loads(page.to_html().split('id="explorer-data">')[1].split("</script>")[0])


def test_data_of_the_explorer(page, reports):
    data = data_of(page)
    found = next(iter(reports.values()))
    ranking = data["ways"]["t2i"]["rankings"][0]
    lists = next(top for top in found.lists if top.direction == "t2i")
    assert np.array_equal(unpacked(ranking["items"]).reshape(-1, 5), lists.items + 1)
    for name, expected in (("scores", lists.scores), ("gains", lists.gains)):
        step = 10.0 ** -ranking[name]["digits"]
        assert step <= 2e-4 * np.abs(expected).max()
        assert np.abs(unpacked(ranking[name]).reshape(-1, 5) * step - expected).max() <= 0.51 * step
    assert np.array_equal(unpacked(ranking["ranks"]), found["MeanR", "t2i"].per_query)
    step = 10.0 ** -ranking["values"]["digits"]
    assert np.abs(unpacked(ranking["values"]) * step - found["matrix:NCS@5", "t2i"].per_query).max() <= step
    assert data["texts"][0] == HOSTILE[0]


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['kind']}").astype(np.float64)


@pytest.mark.parametrize("values", [[0.0], [-5.5, np.nan, 3.25], [1e9, -1e9], [1e-9, 2e-9], [40_000.0]])
def test_rounded_numbers(values):
    values = np.array(values)
    packed = pages._rounded(values)
    found, known = unpacked(packed) / 10 ** packed["digits"], ~np.isnan(values)
    assert np.allclose(found[known], values[known], rtol=2e-4, atol=1e-6)
    assert (unpacked(packed)[~known] == pages.UNDEFINED).all()


def test_nothing_from_outside_is_markup(written):
    text = written.read_text(encoding="utf-8")
    assert text.count("<script") == 2 and text.count("</script") == 2 and "alert(1)</script>" not in text
    assert "onerror=" not in re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert not set("\u202e\u2028\u2029\x1b\x07") & set(text)
    assert not re.search(r"(?:src|href)=['\"]?(?:https?:)?//", text)


def test_one_system(tmp_path):
    found = vb.page(report(0.5), resamples=50)
    assert found.systems == ("A",)
    assert "Agreement of metrics" not in found.settings["parts"]
    assert any("No slices by caption length" in note for note in found.to_dict()["notes"])
    found.save(tmp_path / "a.tex")
    assert r"\begin{tabular}" in (tmp_path / "a.tex").read_text()


def test_provenance_that_others_have_written():
    odd = dataclasses.replace(report(0.5), provenance={"command": 3, "inputs": {"file": "<b>"}, "started": ["<i>"]})
    text = vb.page(odd, captions=CAPTIONS, resamples=50).to_html()
    assert "&lt;i&gt;" in text and "<i>" not in text.split('id="signature"')[1].split("<script")[0]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A page of queries and a corpus, whose relevant documents a report does not know."""
    rng = np.random.default_rng(0)
    ids = {"query_ids": [f"q{i}" for i in range(12)], "corpus_ids": [f"d{i}" for i in range(20)]}
    judged = {"mine": {f"q{i}": {f"d{i}": 1} for i in range(12)}}
    options = {"judgements": judged, "metrics": "mine:nDCG@5,mine:R@1", "lists": 5, "ci": 0, "trust": True}
    one, two = (
        vb.evaluate(rng.standard_normal((12, 8)), rng.standard_normal((20, 8)), **ids, **options) for _ in range(2)
    )
    path = tmp_path_factory.mktemp("asked") / "asked.html"
    page = vb.page({"one": one, "two": two}, resamples=50, title="<b>Ours</b> & \u202etheirs")
    page.save(path)
    return path, page, one


def test_queries_and_documents(browser, asked):
    path, page, report = asked
    assert any("do not hold judgements" in note for note in page.notes)
    assert "&lt;b&gt;Ours&lt;/b&gt; &amp; \\u202etheirs</h1>" in page.to_html()
    assert "&lt;b&gt;Ours&lt;/b&gt; &amp; \\u202etheirs</title>" in page.to_html()
    with browser.open(path) as shown:
        assert shown.locator("[role=option]").count() == 12
        shown.select_option("select", "all")
        shown.locator("[role=option]").nth(3).click()
        words = shown.inner_text("#queries")
        assert (
            f"Query {report.items.rows.ids[3]}" in words
            and "image" not in words
            and "caption" not in words
            and "ground truth" not in words
        )
        (lists,) = report.lists
        listed = shown.locator(".columns section").first.locator("li").all_inner_texts()
        assert [text.split()[-1] for text in listed] == report.items.columns.ids[lists.items[3]].tolist()
        assert f"mine:nDCG@5: {100 * report['mine:nDCG@5', 'query2corpus'].per_query[3]:.1f}" in words


def test_the_address_keeps_what_is_shown(browser, tmp_path):
    path = tmp_path / "plain.html"
    vb.page({"a": report(0.6), "b": report(0.9, 1)}, resamples=50).save(path)
    with browser.open(path) as shown:
        assert "#" not in shown.url  # until the reader moves
        shown.click("[data-direction=t2i]")
        shown.click("[data-system='1']")
        shown.select_option("select", "worst")
        shown.fill("input", "1")
        shown.keyboard.press("ArrowDown")
        chosen, kept, listed = (
            shown.inner_text(".query h3"),
            shown.url.partition("#")[2],
            shown.inner_text("[role=listbox]"),
        )
        assert chosen.startswith("Caption ") and f"query={chosen.split()[-1]}" in kept
        shown.goto("about:blank")
        shown.goto(f"{path.as_uri()}#{kept}")
        assert shown.inner_text(".query h3") == chosen and shown.inner_text("[role=listbox]") == listed
        assert shown.input_value("input") == "1" and shown.input_value("select") == "worst"
        assert shown.locator(".columns section").count() == 1
        shown.evaluate("location.hash = 'query=7&direction=i2t'")
        shown.wait_for_function("document.querySelector('.query h3').textContent === 'Image 7'")
        # a query that is not there, and words that are none, open the first one
        shown.goto("about:blank")
        shown.goto(f"{path.as_uri()}#query=%3Cb%3E&direction=__proto__&order=toString&systems=9")
        assert shown.inner_text(".query h3") == "Image 0"


def test_reports_without_lists_say_how_to_get_them(monkeypatch):
    found = vb.page(report(0.5, lists=0), captions=CAPTIONS, resamples=50)
    assert found.settings["explorer"] is None and any("eval FILE -o A.json" in note for note in found.notes)
    text = found.to_html()
    assert "eval FILE -o A.json" in text and "explorer-data" not in text and 'id="explorer"' not in text
    both = {"with": report(0.3), "without": report(0.5, 1, lists=0)}
    found = vb.page(both, captions=CAPTIONS, resamples=50)
    assert any("without has no ranked lists" in note for note in found.notes)
    assert [r is None for r in data_of(found)["ways"]["i2t"]["rankings"]] == [False, True]
    # lists are shortened to bound the page
    monkeypatch.setattr(page_queries, "LISTS_BUDGET_BYTES", page_queries.BYTES_PER_ITEM * IMAGES * (1 + PER) * 2)
    found = vb.page(report(0.3), captions=CAPTIONS, resamples=50)
    assert found.settings["explorer"]["items"] == 2 and any("first 2 of 5" in note for note in found.notes)
    assert data_of(found)["ways"]["i2t"]["rankings"][0]["k"] == 2


def test_without_altair(monkeypatch, page):
    monkeypatch.setitem(sys.modules, "altair", None)
    text = page.to_html()
    assert "charts need altair" in text and "vsebench[report]" in text and "<svg" not in text


# ---- thumbnails


def pictures(folder, ids, size=(300, 200)):
    image = pytest.importorskip("PIL.Image")
    folder.mkdir(exist_ok=True)
    for i in ids:
        image.new("RGB", size, (10 * i, 200, 90)).save(folder / f"COCO_val2014_{i:012d}.png")


@pytest.mark.parametrize("packed", [False, True])
def test_thumbnails_are_found_as_images_to_encode_are(tmp_path, packed, pinned, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "images"
    pictures(folder, range(5))
    (folder / "COCO_val2014_000000000005.jpg").write_bytes(b"not an image")
    (folder / "._COCO_val2014_000000000006.jpg").write_bytes(b"of macOS")
    if packed:
        with tarfile.open(tmp_path / "images.tar", "w") as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
        folder = tmp_path / "images.tar"
    found = vb.page(report(0.3), captions=CAPTIONS, images=folder, resamples=50)
    made = data_of(found)["thumbnails"]
    assert sorted(made) == ["0", "1", "2", "3", "4"]
    with image.open(io.BytesIO(base64.b64decode(made["3"]))) as small:
        assert small.size == (144, 96) and abs(small.getpixel((5, 5))[1] - 200) < 6
    pinned([note for note in found.notes if "image" in note and "captions" not in note])
    if not packed:  # they are bounded
        (folder / "COCO_val2014_000000000005.jpg").unlink()
        pictures(folder, range(IMAGES))
        monkeypatch.setattr(thumbnails, "MAX_IMAGES", 4)
        found = vb.page(report(0.3), captions=CAPTIONS, images=folder, resamples=50)
        assert found.settings["explorer"]["thumbnails"] == 4 and any("4 of 12 images" in n for n in found.notes)


def test_folders_of_images_that_are_refused(tmp_path, refuses):
    pytest.importorskip("PIL")
    for folder in (tmp_path / "nowhere", tmp_path):
        refuses(BadInput, vb.page, report(0.3), captions=CAPTIONS, images=folder)
    pictures(tmp_path, [99])
    ids = np.array(["\x1b[31m\n" + "i" * 1000, *map(str, range(1, IMAGES))])
    hostile = vb.TestSet.captioned("custom", ids, np.arange(IMAGES * PER), OWNER, tuple(CAPTIONS))
    assert len(refuses(BadInput, thumbnails.make, tmp_path, hostile, [0]).what) < 120


# ---- figures and the command


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures(tmp_path, kind, start):
    pytest.importorskip("vl_convert")
    marks = tuple(Mark(i, k, 0.1 * k + 0.01 * i, (0.1 * k, 0.1 * k + 0.02)) for i in range(2) for k in (1, 5))
    ends = [("7.8", "9.4"), ("9.4", "10"), ("10", "10.6"), ("10.6", "11.2"), ("11.2", "19.6")]
    bins = [Mark(i % 2, f"{a} to below {b}", 0.5, group=g) for g in "ab" for i, (a, b) in enumerate(ends)]
    panels = [
        Panel("a", "<b>R@k</b>", "curve", "k", "R@k", marks),
        Panel("b", "R@1", "slices", "length", "R@1", tuple(bins)),
    ]
    files = write(panels, NAMES[:2], tmp_path / "figures", kind)
    assert [path.name for path in files] == [f"a.{kind}", f"b.{kind}"]
    assert all(path.read_bytes().startswith(start) for path in files)
    if kind == "svg":
        text, slices = (path.read_text() for path in files)
        assert "<script" not in text and "&lt;script&gt;" in text
        assert "&lt;b&gt;R@k" in text and "currentColor" not in text
        assert all(slices.count(f">{a} to below {b}<") == 2 for a, b in ends), "every slice has its label"
        write(panels[:1], ["x" * 50 + "1", "x" * 50 + "2"], tmp_path, "svg")
        assert "(1)</text>" in (tmp_path / "a.svg").read_text(), "two long names have different labels"


def test_the_command(tmp_path):
    report(0.5).save(tmp_path / "a.json")
    (tmp_path / "captions.txt").write_text("\n".join(f"caption {i}" for i in range(IMAGES * PER)))
    more = ["--captions", tmp_path / "captions.txt", "--figures", tmp_path / "figures"]
    made = cli("page", tmp_path / "a.json", "-o", tmp_path / "r.html", *more, "--json").json
    assert made["schema"] == "vsebench/page/2" and made["bytes"] == (tmp_path / "r.html").stat().st_size
    assert made["explorer"]["queries"] == {"i2t": IMAGES, "t2i": IMAGES * PER}
    assert len(made["figures"]) == len(made["charts"]) == len(list((tmp_path / "figures").iterdir()))
    assert "48 queries" in cli("page", tmp_path / "a.json", "-o", tmp_path / "figures" / "r.html", *more).out
    table = cli("page", tmp_path / "a.json", "-o", tmp_path / "R.MD").out
    assert table.endswith("R.MD: 1 system, 0.0 MB\n") and (tmp_path / "R.MD").read_text().startswith("#")


@pytest.mark.parametrize("words", ["r.pdf", "a.json", "r.html --metrics R@7"])
def test_command_lines_that_are_refused(tmp_path, monkeypatch, words, pinned):
    monkeypatch.chdir(tmp_path)
    report(0.5, lists=0).save("a.json")
    pinned(refused("page", "a.json", "-o", *words.split()))
    (tmp_path / "file").write_text("")
    pinned(refused("page", "a.json", "-o", "r.html", "--figures", "file/f", code=6))
    assert not (tmp_path / "r.html").exists()


def test_captions_that_are_not_those_of_the_gains(tmp_path):
    """A report says of which captions its gains were computed; others are shown with a warning."""
    captions = [f"a dog number {i}" for i in range(IMAGES * PER)]
    given = report(0.5, gains=None, metrics="R@1,cider:NCS@5", captions=captions, lists=0)
    assert vb.page(given, captions=captions, resamples=50).warnings == ()
    (warning,) = vb.page(given, captions=captions[::-1], resamples=50).warnings
    assert "the captions shown (#" in warning
    given.save(tmp_path / "a.json")  # a long name of a system is cut
    (found,) = vb.page([f"{'n' * 10_000}={tmp_path / 'a.json'}"], captions=captions, resamples=50).systems
    assert found.startswith("nnnn") and len(found) < 200


def test_reports_without_per_query_values(tmp_path, refuses):
    (tmp_path / "a.json").write_text(report(0.5).to_json(per_query=False))
    refuses(BadInput, vb.page, tmp_path / "a.json")
    refuses(UsageError, vb.page, [])


# ---- in a browser


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_are_shown_as_text(browser, written, width, dark):
    with browser.open(written, width=width, dark=dark) as shown:
        assert browsers.overflow(shown) == 0
        assert NAMES[0] in shown.inner_text("body") and "c" * 100 not in shown.inner_text("body")
        shown.click("[data-direction=t2i]")
        shown.select_option("select", "all")
        listed = shown.locator("[role=option]")
        assert listed.count() == IMAGES * PER
        for i, text in enumerate(HOSTILE):
            listed.nth(i).click()
            heading = shown.inner_text(".query h3")
            assert heading.startswith(printable(text.strip())[:40]), heading[:80]
        listed.nth(5).click()  # long texts open
        assert len(shown.inner_text(".query h3 bdi")) < 400
        shown.click(".query h3 button")
        assert shown.inner_text(".query h3 bdi") == "w" * 10_000
        assert shown.locator(".detail script, .detail img, .queries script").count() == 0
        assert browsers.overflow(shown) == 0


def test_what_the_explorer_shows(browser, tmp_path):
    path = plain(tmp_path)
    found = report(0.6)
    lists = next(top for top in found.lists if top.direction == "i2t")
    with browser.open(path) as shown:
        for query in (0, 7):
            shown.locator("[role=option]").nth(query).click()
            entries = shown.locator(".columns ol > li")
            assert entries.count() == 5
            for j in range(5):
                item = int(lists.items[query, j])
                text = entries.nth(j).inner_text()
                assert f"caption {item} of a" in text and f"{lists.gains[query, j]:.2f}" in text
                assert f"{lists.scores[query, j]:.4f}" in text.replace("−", "-")
                assert ("ground truth" in text) == (item // PER == query)
            rank = int(found["MeanR", "i2t"].per_query[query])
            assert f"first ground truth: rank {rank}" in shown.inner_text(".facts")
            assert f"{100 * found['matrix:NCS@5', 'i2t'].per_query[query]:.1f}" in shown.inner_text(".facts")


def test_images_without_a_caption_are_no_queries(browser, tmp_path):
    """They are candidates of captions, and queries only where judgements have positives of them."""
    rng = np.random.default_rng(3)
    images, owners = rng.standard_normal((9, 5)).astype(np.float32), np.array([1, 1, 4, 6, 6, 6])
    texts = images[owners] + 0.1 * rng.standard_normal((6, 5)).astype(np.float32)
    split = vb.TestSet.captioned("custom", np.arange(9), np.arange(6), owners)
    options = {"split": split, "metrics": "R@1,MedR", "lists": 3, "trust": True, "ci": 0}
    plain = vb.evaluate(images, texts, **options)
    i2t, t2i = plain.lists
    assert np.flatnonzero((i2t.items >= 0).any(1)).tolist() == [1, 4, 6] and (t2i.items >= 0).all()
    assert not i2t.scores[i2t.items < 0].any() and set(t2i.items.ravel().tolist()) - {1, 4, 6}
    plain.save(tmp_path / "r.json")
    assert np.array_equal(vb.load(tmp_path / "r.json").lists[0].items, i2t.items)
    mine = vb.evaluate(
        images, texts, judgements={"mine": {"i2t": {8: [0], 1: [0]}}}, **options | {"metrics": "R@1,mine:R@1"}
    )
    for report, queries in ((plain, [1, 4, 6]), (mine, [1, 4, 6, 8])):
        assert np.flatnonzero((report.lists[0].items >= 0).any(1)).tolist() == queries
        page = vb.page({"mine": report})
        loaded = systems.load_systems({"mine": report})
        shown_queries, _ = page_queries.explore(loaded, list(loaded[0].results), report.items)
        first = page_queries.shown_images(shown_queries, report.items)
        assert set(first[: len(queries)]) == set(queries)
        page.save(tmp_path / "page.html")
        with browser.open(tmp_path / "page.html") as shown:
            assert shown.locator("[role=option]").count() == len(queries)


def test_colours_follow_the_gain(browser, tmp_path):
    with browser.open(plain(tmp_path)) as shown:
        colours = shown.evaluate(
            """() => [...document.querySelectorAll('.columns ol > li')].map((li) => {
                const words = getComputedStyle(li.querySelector('.gain')).backgroundColor.match(/[\\d.]+/g).map(Number);
                return [Number(li.querySelector('.gain').textContent), words[1] - words[0]];
            })"""
        )
    by_gain = [green for _, green in sorted(colours)]
    assert by_gain == sorted(by_gain) and by_gain[-1] > by_gain[0]  # the larger the gain, the greener


def test_presets(browser, tmp_path, written):
    found = report(0.6)
    values = found["matrix:NCS@5", "t2i"].per_query
    first = next(top for top in found.lists if top.direction == "t2i").items[:, 0]
    worst = np.argsort(values, kind="stable")
    missed = [q for q in np.argsort(-values, kind="stable").tolist() if first[q] != OWNER[q]]
    with browser.open(plain(tmp_path)) as shown:
        shown.click("[data-direction=t2i]")
        assert "largest difference" not in shown.inner_text("select")
        shown.select_option("select", "worst")
        near = values[worst[0]] + 2e-4  # values are rounded in the page
        assert values[chosen(shown)] <= near
        shown.select_option("select", "missed")
        assert shown.locator("[role=option]").count() == len(missed)
        assert values[chosen(shown)] >= values[missed[0]] - 2e-4
        assert "✓ ground truth" not in shown.locator(".columns ol > li").first.inner_text()
    with browser.open(written) as shown:
        assert shown.input_value("select") == "difference"  # where systems differ most comes first
        facts = [float(re.search(r"NCS@5: ([\d.]+)", text)[1]) for text in shown.locator(".facts").all_inner_texts()]
        assert len(facts) == 3 and max(facts) - min(facts) > 1


def test_queries_that_one_answers_and_the_other_does_not(browser, tmp_path):
    """For every two of the shown systems, in both orders."""
    path = tmp_path / "two.html"
    both = {"good": report(0.4), "bad": report(0.9, 1)}
    texts = [f"caption {i} of a dog" for i in range(IMAGES * PER)]
    vb.page(both, captions=texts, resamples=50).save(path)
    right = {n: next(t for t in r.lists if t.direction == "t2i").items[:, 0] == OWNER for n, r in both.items()}
    with browser.open(path) as shown:
        shown.click("[data-direction=t2i]")
        for value, wanted in (("only-0-1", right["good"] & ~right["bad"]), ("only-1-0", right["bad"] & ~right["good"])):
            shown.select_option("select", value)
            assert shown.locator("[role=option]").count() == wanted.sum()
            if wanted.any():
                assert chosen(shown) == np.flatnonzero(wanted)[0]
        assert "good right at rank 1, bad wrong" in shown.inner_text("select")


def test_the_columns_of_all_systems_can_be_reached_on_a_phone(browser, written):
    with browser.open(written, width=390) as shown:
        ends = shown.evaluate(
            """() => { const box = document.querySelector('#summary .wide'); box.scrollLeft = 10000;
            const cell = box.querySelector('tbody tr').lastElementChild.previousElementSibling.getBoundingClientRect();
            const first = box.querySelector('tbody td').getBoundingClientRect();
            return [box.tabIndex, cell.right, first.left]; }"""
        )
        assert ends[0] == 0 and ends[1] <= 390 and 0 <= ends[2] < 30


def chosen(shown):
    return int(re.search(r"caption (\d+) of", shown.inner_text(".query h3"))[1])


def test_without_scripts(browser, written):
    with browser.open(written, scripts=False) as shown:
        text = shown.inner_text("body")
        assert "Single queries need JavaScript" in text and "R@1" in text
        assert shown.locator("figure svg").count() == 2 and not shown.is_visible("#explorer")


def test_thumbnails_in_the_page(browser, tmp_path):
    pictures(tmp_path / "images", range(IMAGES))
    path = tmp_path / "page.html"
    vb.page(report(0.3), captions=CAPTIONS, images=tmp_path / "images", resamples=50).save(path)
    with browser.open(path, width=390) as shown:
        shown.click("[data-direction=t2i]")
        shown.locator("[role=option]").nth(9).click()
        loaded = "() => [...document.querySelectorAll('.detail img')].map((i) => i.decode().then(() => i.naturalWidth))"
        assert shown.evaluate(f"async () => Promise.all(({loaded})())") == [144] * 6
        assert browsers.overflow(shown) == 0


def test_search_and_keyboard(browser, tmp_path):
    with browser.open(plain(tmp_path)) as shown:
        shown.click("[data-direction=t2i]")
        shown.fill("input[type=search]", "A DOG")
        assert shown.inner_text("[role=status]") == f"{IMAGES * PER // 2} queries"
        assert chosen(shown) == 1
        shown.fill("input[type=search]", "no such words")
        assert "No matching queries" in shown.inner_text("[role=status]") and shown.inner_text(".detail") == ""
        shown.fill("input[type=search]", "")
        assert shown.inner_text("[role=status]") == f"{IMAGES * PER} queries"
    with browser.open(plain(tmp_path)) as shown:
        shown.click("[data-direction=t2i]")
        shown.keyboard.press("/")
        shown.keyboard.type("caption")
        assert shown.evaluate("document.activeElement.type") == "search"
        shown.keyboard.press("ArrowDown")
        assert chosen(shown) == 1
        shown.locator("[role=listbox]").focus()
        keys = [("ArrowDown", 2), ("End", 35), ("ArrowDown", 35), ("PageUp", 25), ("Home", 0), ("ArrowUp", 0)]
        for key, expected in keys:
            shown.keyboard.press(key)
            assert chosen(shown) == expected, key
        assert shown.get_attribute("[role=listbox]", "aria-activedescendant") == "query-0"
        shown.keyboard.press("Tab")  # everything can be reached
        assert shown.evaluate("document.activeElement !== document.body")


def test_every_system_has_a_column_and_a_legend(browser, written):
    with browser.open(written) as shown:
        figures = shown.locator("figure svg")
        assert figures.count() == 2
        assert all(text.count("<script>alert('name')") == 1 for text in figures.all_text_contents())
        assert shown.locator(".columns section").count() == 3
        for i in range(3):
            shown.click(f"[data-system='{i}']")
        assert shown.locator(".columns section").count() == 1  # one stays
        assert shown.locator("[data-system][aria-pressed=true]").count() == 1
