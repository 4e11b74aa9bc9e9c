"""Systems on several test sets and in several runs: means, their intervals and tests, and names of reports."""

from __future__ import annotations

import copy
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vsebench as vb
from tests.commands import cli
from tests.messages import Refuses
from vsebench.analysis.sets_and_runs import units_of
from vsebench.cli.evaluate import together
from vsebench.errors import UsageError
from vsebench.types import ONE_WAY

KINDS = (("strict", 1), ("loose", 3))  # judgements, and their items a query
NOISE = {"A": 0.5, "B": 0.55, "C": 1.2}


def report(folder: Path, noise: float, seed: int, queries: int) -> vb.Report:
    rng = np.random.default_rng(seed)
    items, own = rng.standard_normal((2 * queries, 6)), rng.permutation(2 * queries)[:queries]
    vectors = items[own] + noise * np.random.default_rng([seed, int(100 * noise)]).standard_normal((queries, 6))
    ids = {"query_ids": [f"s{seed}q{n}" for n in range(queries)], "corpus_ids": [f"d{n}" for n in range(2 * queries)]}
    path = folder / "vectors.npz"
    np.savez(path, query_embeddings=vectors, corpus_embeddings=items, **ids)
    judged = {q: {f"d{d}": 1} for q, d in zip(ids["query_ids"], own.tolist(), strict=True)}
    return vb.evaluate(path, judgements={f"of-set-{seed}": judged}, trust=True)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, vb.Report]:
    folder = tmp_path_factory.mktemp("sets")
    sets = product(NOISE, (1, 2, 3))
    found = {f"{system}:set{seed}": report(folder, NOISE[system], seed, 30 + 10 * seed) for system, seed in sets}
    del found["C:set3"]
    return found


def of(reports: dict[str, vb.Report], system: str, seed: int) -> Any:
    return np.asarray(reports[f"{system}:set{seed}"]["nDCG@10", ONE_WAY].per_query)


def test_means_and_intervals_are_those_of_the_sets(given: dict[str, vb.Report]):
    found = vb.compare(given, mean=True, metrics="nDCG@10")
    assert found.systems == ("A", "B", "C")
    assert (found.settings["sets"], found.settings["averaged"]) == (["set1", "set2", "set3"], ["set1", "set2"])
    frame = found.to_frame().set_index(["system", "set"])
    for system in found.systems:
        values, row = [of(given, system, seed) for seed in (1, 2)], frame.loc[system, "mean"]
        assert row.value == pytest.approx(np.mean([v.mean() for v in values]), abs=1e-12)
        # The variance of a mean of independent sets is the sum of theirs over the square of their number.
        error = np.sqrt(sum(v.var(ddof=1) / len(v) for v in values)) / 2
        ends = row.value - 1.96 * error, row.value + 1.96 * error
        assert (row.low, row.high) == pytest.approx(ends, abs=0.35 * error)
    assert frame.value[:, "set3"].isna().tolist() == [False, False, True]


def test_places_are_those_of_tests_of_the_mean(given: dict[str, vb.Report]):
    found = vb.compare(given, mean=True, metrics="nDCG@10", seed=3)
    means = found.to_frame().query("set == 'mean'")
    assert dict(zip(means.system, means.place, strict=True)) == {"A": 1, "B": 1, "C": 3}
    rng = np.random.default_rng(0)
    for test in found.to_frame("tests").itertuples():
        pair = test.first, test.second
        a, b = ([of(given, system, s) for s in (1, 2)] for system in pair)
        changes = [(y - x) / len(x) / 2 for x, y in zip(a, b, strict=True)]
        flat = np.concatenate(changes)
        swapped = rng.choice([-1, 1], (20_000, len(flat))) @ flat
        p = (np.abs(swapped) >= abs(flat.sum()) - 1e-12).mean()
        assert test.difference == pytest.approx(flat.sum(), abs=1e-12)
        assert test.p == pytest.approx(p, abs=0.015)


def test_files_in_folders_of_systems(given: dict[str, vb.Report], tmp_path: Path):
    files = []
    for name, one in given.items():
        system, _, of_set = name.partition(":")
        (tmp_path / system).mkdir(exist_ok=True)
        one.save(tmp_path / system / f"{of_set}.json")
        files.append(tmp_path / system / f"{of_set}.json")
    text = cli("compare", *files, "--mean", "--metrics", "ndcg@10", "--format", "csv").out
    assert text.splitlines()[1].startswith("A,nDCG@10,query2corpus,set1,") and ",mean," in text
    assert "place" in cli("compare", "--mean", *files).out


def in_runs(systems: dict[str, float], runs: int, sets: int = 1) -> dict[str, vb.Report]:
    """Reports ``SYSTEM@RUN``, of several sets ``SYSTEM@RUN:SET``, of systems that are that noisy."""
    found = {}
    for system, run, of_set in product(systems, range(runs), range(sets)):
        images = np.random.default_rng(of_set).standard_normal((30 + of_set, 8))
        seed = [run, of_set, int(100 * systems[system])]
        texts = images + systems[system] * np.random.default_rng(seed).standard_normal(images.shape)
        name = f"{system}@{run}" + f":set{of_set}" * (sets > 1)
        found[name] = vb.evaluate(images, texts, captions_per_image=1, metrics="R@1,MeanR", trust=True, ci=0)
    return found


def by_splits(first: list[float], second: list[float]) -> float:
    """The p-value of all ways to divide the runs."""
    both, n = [*first, *second], len(first)
    splits = [set(chosen) for chosen in combinations(range(len(both)), n)]
    parts = [[[x for i, x in enumerate(both) if (i in s) == own] for own in (True, False)] for s in splits]
    differences = [abs(np.mean(a) - np.mean(b)) for a, b in parts]
    return float(np.mean(np.array(differences) >= abs(np.mean(first) - np.mean(second)) - 1e-12))


def test_runs_of_a_system_are_a_row_with_their_deviation_and_tests_over_runs():
    from scipy import stats

    given = in_runs({"ours": 0.6, "theirs": 0.9}, 4) | {"one": in_runs({"one": 1.5}, 1)["one@0"]}
    runs = {s: [r["R@1", "i2t"].value for n, r in given.items() if n.startswith(s)] for s in ("ours", "theirs", "one")}
    found = vb.compare(given, metrics="R@1,MeanR", correction="none")
    shown = vb.compare(given, metrics="R@1,MeanR", tests=False)
    for frame in (found.to_frame("values"), shown.to_frame()):
        for row in frame.query("metric == 'R@1' and direction == 'i2t'").itertuples():
            own = runs[row.system]
            assert row.value == pytest.approx(np.mean(own)) and row.runs == len(own)
            if len(own) == 1:
                assert np.isnan([row.sd, row.low, row.high]).all()
                continue
            assert row.sd == pytest.approx(np.std(own, ddof=1))
            ends = stats.t.interval(0.95, len(own) - 1, np.mean(own), stats.sem(own))
            assert (row.low, row.high) == pytest.approx(ends)
    for test in found.to_frame("tests").query("metric == 'R@1' and direction == 'i2t'").itertuples():
        a, b = runs[test.first], runs[test.second]
        assert test.difference == pytest.approx(np.mean(b) - np.mean(a)) and test.exact
        assert test.p == test.corrected == pytest.approx(by_splits(a, b))
        if test.second == "one":
            assert np.isnan(test.low) and test.p >= 1 / 5
        else:
            welch = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
            assert (test.low, test.high) == pytest.approx(tuple(welch))
    legend = found.tables[0].notes[0]
    assert "smallest possible p 0.029" in legend and "runs (ours 4, theirs 4, one 1)" in legend
    assert "training" in found.notes[0] and len(shown.reports) == 9
    again = vb.compare(dict(shown.reports), metrics="R@1,MeanR", tests=False)
    assert again.records() == shown.records()


def test_three_runs_each_cannot_be_significant_and_a_warning_says_so(pinned: Refuses):
    found = vb.compare(in_runs({"ours": 0.3, "theirs": 2.0}, 3), metrics="R@1")
    assert found.to_frame().p.tolist() == [0.1, 0.1] and found.to_frame().winner.isna().all()
    (warning,) = found.warnings
    pinned(warning)


def test_of_several_sets_and_runs_the_mean_of_every_run_is_tested():
    given = in_runs({"ours": 0.6, "theirs": 0.9}, 5, sets=2)
    means = {
        system: [np.mean([given[f"{system}@{run}:set{n}"]["R@1", "t2i"].value for n in (0, 1)]) for run in range(5)]
        for system in ("ours", "theirs")
    }
    found = vb.compare(given, mean=True, metrics="R@1", baseline="theirs")
    (test,) = found.to_frame("tests").query("direction == 't2i'").itertuples()
    assert (test.first, test.second) == ("theirs", "ours") and test.p == pytest.approx(by_splits(*means.values()))
    for row in found.to_frame("values").query("direction == 't2i' and set == 'mean'").itertuples():
        assert row.value == pytest.approx(np.mean(means[row.system]))
        assert row.sd == pytest.approx(np.std(means[row.system], ddof=1))
    assert "+" in [mean.mark for *_, mean in found.tables[0].rows]
    rows = vb.compare(given, mean=True, metrics="R@1", tests=False).to_frame().query("direction == 't2i'")
    assert rows.set_index(["system", "set"]).value["ours", "macro mean"] == pytest.approx(np.mean(means["ours"]))


def test_a_name_with_seeds_is_one_system(refuses: Refuses, tmp_path: Path):
    given = in_runs({"ours": 0.6}, 2) | in_runs({"me@lab": 0.8}, 1)
    assert vb.compare(given, metrics="R@1").systems == ("ours", "me@lab@0")
    alone = {"ours@0": given["ours@0"], "theirs@0": given["ours@1"]}  # no system has several runs
    assert vb.compare(alone, metrics="R@1").systems == ("ours@0", "theirs@0")
    refuses(UsageError, vb.compare, {**given, "ours": given["ours@0"]})
    refuses(UsageError, vb.compare, {name: given[name] for name in ("ours@0", "ours@1")})
    both = {name: given[name] for name in ("ours@0", "ours@1")}
    page = vb.page(both, resamples=20)
    assert "ours@1" in page.to_html() and "Runs of ours (ours@0, ours@1)" in " ".join(page.notes)
    (row,) = together(both, "R@1").to_frame().query("direction == 'i2t'").itertuples()  # as eval prints them
    values = [one["R@1", "i2t"].value for one in both.values()]
    assert (row.value, row.sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    folders = {f"a@1/{name}": given[f"ours@{n}"] for n, name in enumerate("xy")}  # no runs of a@1: folders
    assert vb.compare(folders, metrics="R@1").systems == ("a@1/x", "a@1/y")
    for name, one in given.items():
        one.save(tmp_path / f"{name}.json")
    text = cli("show", *(tmp_path / f"{name}.json" for name in given), "--metrics", "R@1").out
    assert "±" in text and "ours@" not in text and "me@lab@0" in text


def test_one_system_has_a_mean_over_its_sets(given: dict[str, vb.Report]):
    found = vb.compare({name: one for name, one in given.items() if name[0] == "A"}, mean=True, metrics="nDCG@10")
    wanted = np.mean([of(given, "A", seed).mean() for seed in (1, 2, 3)])
    assert found.to_frame().value.iloc[-1] == pytest.approx(wanted) and not found.records("tests")
    assert "place" not in str(found).lower()


@pytest.mark.parametrize("one_way", [False, True])
def test_items_of_one_id_are_one_unit_of_the_sets_that_share_some(one_way: bool):
    def of_ids(rows: list[int], columns: list[int]) -> vb.TestSet:
        image_of = None if one_way else np.zeros(len(columns), np.int64)
        sides = vb.Side("query" if one_way else "image", rows), vb.Side("corpus" if one_way else "text", columns)
        return vb.TestSet("custom", *sides, image_of)

    ids = {"a": ([3, 1, 2], [9, 8]), "b": ([7, 5], [9, 8, 6]), "c": ([2, 4], [8]), "d": ([4, 11], [1])}
    population, at = units_of({name: of_ids(*of_set) for name, of_set in ids.items()})
    items = {
        name: [("row", n) for n in rows] + [("column", n) for n in columns] * one_way
        for name, (rows, columns) in ids.items()
    }  # a, c and d share 2 and 4, b shares no row
    strata = {name: "b" if name == "b" else "acd" for name in ids}
    units = {(strata[name], item) for name, of_set in items.items() for item in of_set}
    assert population.images == len(units) == len({unit for of_set in at.values() for unit in of_set.tolist()})
    seen: dict[object, int] = {}
    for name, of_set in items.items():
        assert len(at[name]) == len(of_set)
        for item, unit in zip(of_set, at[name].tolist(), strict=True):
            assert seen.setdefault((strata[name], item), unit) == unit
    folds = {strata[name]: {int(population.fold[unit]) for unit in at[name].tolist()} for name in ids}  # type: ignore[index]
    assert all(len(of) == 1 for of in folds.values()) and folds["b"] != folds["acd"]


def test_what_has_no_mean_is_refused(given: dict[str, vb.Report], tmp_path: Path, pinned: Refuses):
    a, b = given["A:set1"], given["B:set2"]
    other = report(tmp_path, 0.5, 1, 35)
    for reports, metrics in (
        ({"A": a, "B": b}, None), ({"A:x": a, "B:y": b}, None), ({"A:x": a, "B:x": given["B:set1"]}, "MedR"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            vb.compare(reports, mean=True, metrics=metrics)
        pinned(caught.value)
    for options in ({"mean": True}, {}):  # other queries of one set; two sets without a mean
        with pytest.raises(UsageError) as caught:
            vb.compare({"A:x": a, "B:x": other}, **options)
        pinned(caught.value)
    # by force on the queries that both have
    forced = vb.compare({"A:x": a, "B:x": other}, mean=True, force=True, metrics="nDCG@10")
    assert "compared on the 35 queries" in " ".join(forced.warnings)


def test_what_is_not_alike_is_not_averaged(given: dict[str, vb.Report], pinned: Refuses):
    """Kinds of gains are other quantities, a report stands for one system and set, and rules are those of all sets."""
    x = np.random.default_rng(0).standard_normal((30, 6))
    gains = np.random.default_rng(1).random((30, 30))
    kinds = [
        vb.evaluate(
            x, x, captions_per_image=1, metrics="nDCG@10", gains=g, captions=[f"a photo of {n}" for n in range(30)]
        )
        for g in ("cider", gains)
    ]
    twice = {f"{name}{mark}set1": given[f"{name}:set1"] for name in "AB" for mark in ":/"}
    for reports in ({f"{s}:{n}": copy.deepcopy(kinds[n]) for s in "AB" for n in (0, 1)}, twice):
        with pytest.raises(UsageError) as caught:
            vb.compare(reports, mean=True, metrics="nDCG@10")
        pinned(caught.value)
    other = vb.evaluate(x, x, captions_per_image=1, metrics="R@1", ties="pessimistic")
    one = vb.evaluate(x[:20], x[:20], captions_per_image=1, metrics="R@1")
    with pytest.warns(vb.VsebenchWarning, match="ties"):
        reports = {f"{s}:{n}": copy.deepcopy(r) for s in "AB" for n, r in (("x", other), ("y", one))}
        vb.compare(reports, mean=True, metrics="R@1")


def test_equal_sets_without_ids_are_the_same_images_counted_once():
    rng = np.random.default_rng(5)
    images, noise = rng.standard_normal((40, 8)), rng.standard_normal((2, 40, 8))
    one, two = (
        vb.evaluate(images, images + 0.9 * n, captions_per_image=1, metrics="R@1", trust=True, ci=0) for n in noise
    )
    alone = vb.compare({"a": one, "b": two}, metrics="R@1", permutations=2000).to_frame()
    copies = {f"{name}:{n}": r for n in range(8) for name, r in (("a", one), ("b", two))}
    compared = vb.compare(copies, mean=True, metrics="R@1", permutations=2000)
    assert "share images by row number: 0 to 7" in " ".join(compared.notes)
    found = compared.to_frame("tests")
    assert found.p.tolist() == alone.p.tolist() and found.n.tolist() == [40, 40]
    assert found.error.tolist() == pytest.approx(alone.error.tolist())


def test_the_size_of_a_difference_of_means_is_that_of_queries_within_sets(given: dict[str, vb.Report]):
    found = vb.compare({n: r for n, r in given.items() if n[0] in "AC"}, mean=True, metrics="Recall@10")
    (test,) = found.to_frame("tests").itertuples()
    parts = [
        np.subtract(*(np.asarray(given[f"{s}:set{n}"]["Recall@10", ONE_WAY].per_query) for s in "CA")) for n in (1, 2)
    ]
    flat = np.concatenate(parts)
    assert test.n == len(flat) == 40 + 50 and (test.wins, test.losses) == ((flat > 0).sum(), (flat < 0).sum())
    assert test.superiority == pytest.approx(((flat > 0).sum() + (flat == 0).sum() / 2) / len(flat))
    error = np.sqrt(sum(d.var(ddof=1) / len(d) for d in parts)) / 2
    assert test.error == pytest.approx(error)
    mean = np.mean([d.mean() for d in parts])
    assert test.standardised == pytest.approx(mean / error / np.sqrt(len(flat)))


def of_hits(hits: list[bool], first: int) -> vb.Report:
    """Queries from a number on, with their item in the first or the second place."""
    ids = [f"q{first + n}" for n in range(len(hits))]
    run = {q: ["right", "wrong"] if hit else ["wrong", "right"] for q, hit in zip(ids, hits, strict=True)}
    return vb.evaluate(run=run, judgements={"own": {q: {"right": 1} for q in ids}}, metrics="Recall@1,MRR")


def test_by_force_values_and_differences_are_of_the_queries_that_all_share():
    one, two = of_hits([True] * 20 + [False] * 20, 0), of_hits([False] * 20 + [True] * 20, 10)
    # queries 10 to 39: of the first 10 of 30 are found, of the second 10 of 30
    reports = {"a": one, "b": two, "c": of_hits([True] * 30, 15)}  # all three: 15 to 39
    for names, wanted in (("ab", [10 / 30, 10 / 30]), ("abc", [5 / 25, 10 / 25, 1.0])):
        given = {name: reports[name] for name in names}
        found = vb.compare(given, metrics="Recall@1", force=True, intervals=True)
        shown = vb.compare(given, metrics="Recall@1", force=True, intervals=True, tests=False)
        for frame in (found.to_frame("values"), shown.to_frame()):
            assert frame.value.tolist() == pytest.approx(wanted) and frame.low.isna().all()
        values = dict(zip(names, wanted, strict=True))
        for test in found.to_frame("tests").itertuples():
            assert test.difference == pytest.approx(values[test.second] - values[test.first])
            assert test.n == (30 if names == "ab" else 25)
        for warnings in (found.warnings, shown.warnings):
            assert f"compared on the {25 + 5 * (names == 'ab')} queries" in " ".join(warnings)
    seeds = {"a@0": one, "a@1": of_hits([True] * 40, 0), "b@0": two, "b@1": of_hits([False] * 40, 10)}
    found = vb.compare(seeds, metrics="Recall@1", force=True).to_frame("values")
    assert found.value.tolist() == pytest.approx([40 / 60, 10 / 60])


def test_names_that_hide_what_is_compared_are_refused(given: dict[str, vb.Report], tmp_path: Path, pinned: Refuses):
    a, b, c = (given[f"A:set{n}"] for n in (1, 2, 3))
    wrong: list[tuple[dict[str, vb.Report], bool]] = [
        ({"A:mean": a, "A:other": b}, True),  # the column of means
        ({"A:x@1": a, "A:x@2": given["B:set1"]}, True),  # runs behind the set
        ({"A:x": a, "A:y": given["B:set1"]}, True),  # sets that are one
        ({"A/x": a, "A/y": given["B:set1"], "B/x": b, "B/y": given["B:set2"]}, True),  # systems in folders of sets
        ({"A@0": a, "A@1": a, "B": given["B:set1"]}, False),  # one report as two runs
        ({"A@0:x": a, "A@1:x": a, "A@0:y": b, "A@1:y": b}, True),
    ]
    for reports, mean in wrong:
        with pytest.raises(UsageError) as caught:
            vb.compare(reports, mean=mean)
        pinned(caught.value)
    assert vb.compare({"A@1:x": a, "A@2:x": given["B:set1"], "A@1:y": b, "A@2:y": given["B:set2"]}, mean=True)
    assert vb.compare({"A:x@1": a, "A:y@2": c}, mean=True).settings["sets"] == ["x@1", "y@2"]
    for name in ("one", "two"):  # the same file, a copy, and reports of one name
        a.save(tmp_path / f"{name}.json")
    b.save(tmp_path / "three.json")
    one, two, three = (tmp_path / f"{name}.json" for name in ("one", "two", "three"))
    for files in ((one, one), (f"a@1={one}", f"a@2={two}"), (f"a:x={one}", f"a:x={three}")):
        pinned(cli("compare", *files, "--mean" * (":x" in str(files)) or "--force", code=2).err)


def test_runs_and_the_sets_that_they_lack_are_named():
    given = in_runs({"ours": 0.6}, 3, sets=2)
    del given["ours@0:set1"], given["ours@2:set0"]
    given |= {f"ours@{run}:set2": one for run, one in zip(range(3), in_runs({"o": 0.7}, 3).values(), strict=True)}
    notes = " ".join(vb.compare(given, mean=True, metrics="R@1").notes)
    assert "ours: 3 runs (ours@0, ours@1, ours@2)" in notes
    assert "ours@0 has no set1" in notes and "ours@2 has no set0" in notes and "ours@1 has" not in notes


def test_judgements_of_one_metric_have_a_table_each():
    def of_two(number: int, shift: int) -> vb.Report:
        run = {f"s{number}q{n}": [f"d{(n + shift + k) % 9}" for k in range(3)] for n in range(9)}
        kinds = {kind: {q: {f"d{n + k}": 1 for k in range(width)} for n, q in enumerate(run)} for kind, width in KINDS}
        return vb.evaluate(run=run, judgements=kinds, metrics=[f"{kind}:Recall@1" for kind, _ in KINDS])

    found = vb.compare({f"{s}:{n}": of_two(n, n + 2 * (s == "B")) for s in "AB" for n in (0, 1)}, mean=True)
    wanted = {f"{kind}:Recall@1" for kind, _ in KINDS}
    assert set(found.to_frame("values").metric) == set(found.to_frame("tests").metric) == wanted
    titles = [table.title for table in found.tables if table.name == "values"]
    assert len(set(titles)) == len(titles) == 2
