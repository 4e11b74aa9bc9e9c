"""Which row is which item: by id, in order, or refused with a message."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Refuses
from tests.notes import with_notes
from vsebench.errors import BadInput, MissingPackage, UsageError
from vsebench.files.raw import Raw
from vsebench.sets import catalogue as splits
from vsebench.sets import match
from vsebench.sets.owners import suggestion
from vsebench.types import TestSet

match_rows = partial(with_notes, match.match_rows)
WHERE = Path("e.npz")
IMAGE_OF = np.arange(20) // 5
IDS = np.array([40, 10, 30, 20])
TEXT_IDS = np.arange(20)[::-1] + 500


def rows_with(n_image: int = 4, n_text: int = 20, **fields: Any) -> Raw:
    """Rows of a file, by default of four images and twenty texts."""
    return Raw((np.empty((n_image, 0)), np.empty((n_text, 0))), sources=(WHERE,), **fields)


def owners(found: Any) -> dict[Any, Any]:
    """Id of a caption -> id of its image."""
    split = found.split
    return dict(zip(split.columns.ids.tolist(), split.rows.ids[split.image_of].tolist(), strict=True))


# A custom split


def test_in_order_without_ids() -> None:
    found = match_rows(rows_with())
    assert found.split.name == "custom" and found.rows == (None, None)
    assert np.array_equal(found.split.image_of, IMAGE_OF)
    assert found.notes == ("no ids and no image_of_text: assuming five texts per image, in order",)


@pytest.mark.parametrize(("each", "words"), [(1, "one text per image"), (2, "2 texts per image"), (5, "five texts")])
def test_captions_per_image(each: int, words: str) -> None:
    found = match_rows(rows_with(n_text=4 * each), None, each)
    assert np.array_equal(found.split.image_of, np.arange(4 * each) // each) and words in found.notes[0]


def test_rows_are_put_in_the_order_of_their_ids() -> None:
    found = match_rows(rows_with(image_ids=IDS, text_ids=TEXT_IDS, image_of_text=IMAGE_OF))
    assert found.split.rows.ids.tolist() == [10, 20, 30, 40]
    assert found.rows[0] is not None and IDS[found.rows[0]].tolist() == [10, 20, 30, 40]
    assert found.rows[1] is not None and TEXT_IDS[found.rows[1]].tolist() == list(range(500, 520))
    owner = IDS[IMAGE_OF][found.rows[1]]
    assert np.array_equal(found.split.rows.ids[found.split.image_of], owner)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(4), rng.permutation(20)
    first = match_rows(rows_with(image_ids=IDS, text_ids=TEXT_IDS, image_of_text=IDS[IMAGE_OF])).split
    shuffled = rows_with(image_ids=IDS[rows], text_ids=TEXT_IDS[columns], image_of_text=IDS[IMAGE_OF][columns])
    second = match_rows(shuffled).split
    assert np.array_equal(first.image_of, second.image_of)
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(first.sides, second.sides, strict=True))


@pytest.mark.parametrize("ids", [IDS, np.array(["d", "a", "c", "b"]), np.array(["é", "写", "[b]", "a b"])])
def test_image_of_text_by_row_and_by_id_agree(ids: np.ndarray) -> None:
    by_row = match_rows(rows_with(image_ids=ids, image_of_text=IMAGE_OF))
    by_id = match_rows(rows_with(image_ids=ids, image_of_text=ids[IMAGE_OF]))
    assert np.array_equal(by_row.split.image_of, by_id.split.image_of)
    assert by_row.notes == ("image_of_text holds image rows",)
    assert by_id.notes == ("image_of_text holds image ids",)


def test_captions_per_image_must_agree_with_image_of_text(refuses: Refuses) -> None:
    refuses(UsageError, match_rows, rows_with(image_of_text=np.arange(20) % 4), None, 5)
    in_order = np.repeat(np.arange(4), 5)
    found = match_rows(rows_with(image_of_text=in_order), None, 5)
    assert np.array_equal(found.split.image_of, in_order)


def test_the_wrong_entry_of_image_of_text_is_named(refuses: Refuses) -> None:
    rows, ids = IMAGE_OF.copy(), IDS[IMAGE_OF]
    rows[7], ids[7] = 9, 11
    for owner in (rows, ids):
        refuses(BadInput, match_rows, rows_with(image_ids=IDS, image_of_text=owner))


def test_the_fix_gives_the_number_of_texts_an_image(refuses: Refuses) -> None:
    assert "captions_per_image=4" in refuses(BadInput, match_rows, rows_with(n_text=16)).fix
    assert "captions_per_image" not in refuses(BadInput, match_rows, rows_with(n_text=17)).fix


def test_inputs_are_not_changed() -> None:
    ids, owner = IDS.copy(), IDS[IMAGE_OF].copy()
    match_rows(rows_with(image_ids=ids, image_of_text=owner))
    assert np.array_equal(ids, IDS) and np.array_equal(owner, IDS[IMAGE_OF])


def test_without_the_package_ids_are_just_ids(monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    def absent(name: str, **_: Any) -> TestSet:
        raise MissingPackage(f"no {name}", fix="pip install it")

    monkeypatch.setattr(splits, "load_split", absent)
    assert match_rows(rows_with(image_ids=IDS, text_ids=TEXT_IDS, image_of_text=IMAGE_OF)).split.name == "custom"
    refuses(MissingPackage, match_rows, rows_with(), "coco-5k")


SHIFTED = np.array([1, 2, 3, 0])  # ids that are rows of other images


def test_ids_that_could_be_rows_are_refused_unless_the_name_or_the_format_decides(refuses: Refuses) -> None:
    owner = rows_with(image_ids=SHIFTED, image_of_text=SHIFTED[IMAGE_OF])
    refuses(BadInput, match_rows, owner)
    by_id, by_row = match_rows(replace(owner, holds="ids")), match_rows(replace(owner, holds="rows"))
    assert by_id.split.rows.ids[by_id.split.image_of].tolist() == SHIFTED[IMAGE_OF].tolist()
    assert by_row.split.rows.ids[by_row.split.image_of].tolist() == SHIFTED[SHIFTED][IMAGE_OF].tolist()
    same = match_rows(rows_with(image_ids=np.arange(4), image_of_text=IMAGE_OF))
    assert np.array_equal(same.split.image_of, IMAGE_OF), "both readings agree"


@pytest.mark.parametrize(
    "change",
    [
        {"holds": "ids", "image_of_text": IMAGE_OF},
        {"holds": "ids", "image_ids": IDS, "image_of_text": IMAGE_OF},
        {"holds": "rows", "image_ids": IDS, "image_of_text": IDS[IMAGE_OF]},
        {"image_ids": IDS},
        {"text_ids": TEXT_IDS},
        {"image_ids": np.arange(4), "text_ids": TEXT_IDS},
    ],
)
def test_ids_that_do_not_give_the_image_are_refused(change: dict[str, Any], refuses: Refuses) -> None:
    refuses(BadInput, match_rows, rows_with(**change))


def test_captions_per_image_states_the_order_of_rows_with_ids() -> None:
    found = match_rows(rows_with(image_ids=IDS, text_ids=TEXT_IDS), None, 5)
    assert owners(found) == dict(zip(TEXT_IDS.tolist(), IDS[IMAGE_OF].tolist(), strict=True))
    assert found.notes[0] == "ids of no known split and no image_of_text: assuming five texts per image, in order"


SPELLINGS = ("{}", "{}.0", " {}", "+{}", "{}\n", "{:012d}.jpg", "val2014\\COCO_val2014_{:012d}.jpg", "x/{}.jpg \r\n")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_image_of_text_may_spell_ids_in_another_way(spelling: str) -> None:
    owner = np.array([spelling.format(i) for i in IDS[IMAGE_OF]])
    for ids in (IDS, np.array([f"{i}.png" for i in IDS]))[: 1 if spelling in ("{}.0", "+{}") else 2]:
        found = match_rows(rows_with(image_ids=ids, image_of_text=owner))
        assert np.array_equal(
            found.split.image_of, match_rows(rows_with(image_ids=ids, image_of_text=ids[IMAGE_OF])).split.image_of
        )


def test_ids_that_only_folders_tell_apart_stay_apart(refuses: Refuses) -> None:
    ids = np.array(["a/1.jpg", "b/1.jpg", "a/2.jpg", "b/2.jpg"])
    found = match_rows(rows_with(image_ids=ids, image_of_text=ids[IMAGE_OF]))
    assert found.split.rows.ids[found.split.image_of].tolist() == ids[IMAGE_OF].tolist()
    refuses(BadInput, match_rows, rows_with(image_ids=ids, image_of_text=np.array(["1.jpg"] * 20)))


@pytest.mark.parametrize("spelling", ["v{}.mp4#{}", "v{}#{}", "a/v{}.mp4#enc#{}"])
def test_text_ids_that_number_the_texts_of_an_image(spelling: str, refuses: Refuses) -> None:
    order = np.random.default_rng(0).permutation(20)
    ids = np.array([spelling.format(i // 5, i % 5) for i in range(20)])[order]
    images = np.array([("a/v{}.mp4#enc" if "enc" in spelling else "v{}.mp4").format(i) for i in range(4)])
    file = rows_with(image_ids=images, text_ids=ids)
    found = match_rows(file)
    assert np.array_equal(found.split.image_of, np.array([order[row] // 5 for row in found.rows[1]]))
    refuses(BadInput, match_rows, replace(file, text_ids=np.where(ids == ids[3], "odd", ids)))
    refuses(UsageError, match_rows, file, None, 5)  # the rows are in another order


@pytest.mark.parametrize(
    "images,texts",
    [
        ("v{}", "v{}_{}"), ("v{}", "V{}-{}"), ("v{}", "{1}:v{0}"), ("{}.jpg", "{}.jpg {}"), ("{}", "{}_{}"),
        ("{}", "{1}:{0}"), ("{}", "cap_{}_{}"), ("{}.jpg", "t.{}.{}"), ("p{}.v1", "p{}.v2#{}"),
        ("prod{}", "query{}"), ("d{}", "q{}{}"), ("doc{}", "doc{}_q{}"), ("V{}.JPG", "v{}.jpg{}"),
    ],
)  # fmt: skip
def test_parts_of_ids_give_no_image(images: str, texts: str) -> None:
    ids = np.array([texts.format(i // 5, i % 5) for i in range(40)])
    ids = np.arange(40).astype(str) if len(set(ids.tolist())) < 40 else ids
    file = rows_with(n_image=8, n_text=40, image_ids=np.array([images.format(i) for i in range(8)]), text_ids=ids)
    with pytest.raises(BadInput):
        match_rows(file)
    assert match_rows(file, judged=True).split.image_of is None


def test_text_ids_that_are_image_ids_give_the_image_unless_judgements_do() -> None:
    names = np.array([f"p{i}.jpg" for i in range(4)])
    order = np.array([2, 0, 3, 1])
    for texts in (names[order], np.array([f"x/p{i}.png" for i in order])):
        file = rows_with(n_text=4, image_ids=names, text_ids=texts)
        found = match_rows(file)
        assert np.array_equal(found.split.image_of, order[found.rows[1]])
        assert np.array_equal(found.split.columns.ids, np.sort(texts))
        assert "is of image 'p2.jpg'" in found.notes[0]
        judged = match_rows(file, judged=True)
        assert judged.split.image_of is None and np.array_equal(judged.split.columns.ids, np.sort(texts))
    repeated = match_rows(rows_with(image_ids=names, text_ids=names[IMAGE_OF]))
    assert np.array_equal(repeated.split.image_of, IMAGE_OF) and repeated.split.columns.numbered


@pytest.mark.parametrize(("images", "texts"), [("img_{}", "txt_{}"), ("item{}", "ask{}"), ("{}", "q{}")])
def test_equal_digits_in_ids_give_no_image(images: str, texts: str) -> None:
    ids = [np.array([names.format(i) for i in range(4)]) for names in (images, texts)]
    with pytest.raises(BadInput):
        match_rows(rows_with(n_text=4, image_ids=ids[0], text_ids=ids[1]), None)


def test_text_ids_of_flickr_give_the_image() -> None:
    names = np.array([f"{i}_ab.jpg" for i in IDS])
    texts = np.array([f"{names[k // 5]}#{k % 5}" for k in np.random.default_rng(0).permutation(20)])
    found = match_rows(rows_with(image_ids=names, text_ids=texts))
    assert all(text.rpartition("#")[0] == image for text, image in owners(found).items())
    assert found.notes == ("the image of every text is known from the text ids",)


# COCO


def coco_rows(coco: TestSet, **change: Any) -> Raw:
    """A file of COCO 5K."""
    return rows_with(
        **{"n_image": 5000, "n_text": 25000, "image_ids": coco.rows.ids, "text_ids": coco.columns.ids, **change}
    )


def test_ids_select_the_split(coco: TestSet) -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(5000), rng.permutation(25000)
    found = match_rows(coco_rows(coco, image_ids=coco.rows.ids[rows], text_ids=coco.columns.ids[columns]))
    assert found.split.name == "coco-5k"
    assert found.rows[0] is not None and np.array_equal(rows[found.rows[0]], np.arange(5000))
    assert found.rows[1] is not None and np.array_equal(columns[found.rows[1]], np.arange(25000))


@pytest.mark.parametrize(
    "spelling",
    ["{}.0", "+{}", "val2014\\COCO_val2014_{:012d}.jpg", "coco_val2014_{:012d}.JPG\n", "COCO_val2014:sentid:{}",
     "\ufeff{}"],
)  # fmt: skip
def test_every_spelling_of_coco_ids_is_known(coco: TestSet, spelling: str) -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(5000), rng.permutation(25000)
    images = np.array([spelling.format(i) for i in coco.rows.ids[rows]])
    texts = np.array([spelling.format(i) for i in coco.columns.ids[columns]])
    for name in (None, "coco-1k"):
        found = match_rows(coco_rows(coco, image_ids=images, text_ids=texts), name)
        assert found.split.name == (name or "coco-5k") and len(found.notes) in (0, 2)  # what is dropped from the ids
        assert found.rows[0] is not None and np.array_equal(rows[found.rows[0]], np.arange(5000))
        assert found.rows[1] is not None and np.array_equal(columns[found.rows[1]], np.arange(25000))
    part = coco_rows(coco, n_image=10, n_text=50, image_ids=np.array([spelling.format(i) for i in coco.rows.ids[:10]]),
                     text_ids=np.array([spelling.format(i) for i in coco.columns.ids[:50]]))  # fmt: skip
    assert match_rows(part, "custom").notes == ("the image of every text is known from the ids of coco-5k",)


def test_image_ids_of_metadata_are_compared_with_the_split_where_images_have_none(
    coco: TestSet, refuses: Refuses
) -> None:
    columns = np.random.default_rng(0).permutation(25000)
    owner = coco.rows.ids[coco.image_of[columns]]
    given = coco_rows(coco, image_ids=None, text_ids=coco.columns.ids[columns], image_of_text=owner, holds="ids")
    assert match_rows(given, "coco-5k").split.name == "coco-5k"
    turned = replace(given, image_of_text=owner[::-1])
    refuses(BadInput, match_rows, turned, "coco-5k")


def test_ids_that_are_nearly_those_of_coco_are_refused(coco: TestSet, refuses: Refuses) -> None:
    odd = np.array([f"id<{i}>" for i in coco.rows.ids])
    texts = np.char.add(odd.repeat(5), np.arange(25000).astype(str))
    for change in ({"image_ids": odd}, {"image_ids": odd, "text_ids": None}, {"image_ids": None, "text_ids": texts}):
        refuses(BadInput, match_rows, coco_rows(coco, **change))


def test_a_coco_file_with_a_fault_may_still_be_custom(coco: TestSet, refuses: Refuses) -> None:
    part = coco_rows(coco, n_image=10, n_text=50, image_ids=coco.rows.ids[:10], text_ids=coco.columns.ids[:50])
    assert "split='custom'" in refuses(BadInput, match_rows, part).fix
    found = match_rows(part, "custom")
    assert found.notes == ("the image of every text is known from the ids of coco-5k",)
    assert owners(found) == dict(zip(coco.columns.ids[:50].tolist(), coco.rows.ids[coco.image_of[:50]], strict=True))
    lost = coco_rows(coco, n_image=10, n_text=60, image_ids=coco.rows.ids[:10], text_ids=coco.columns.ids[:60])
    refuses(BadInput, match_rows, lost, "custom")


def test_image_of_text_that_contradicts_a_declared_split_is_refused(coco: TestSet, refuses: Refuses) -> None:
    given = rows_with(5000, 25000)
    found = match_rows(given, "coco-5k")
    assert found.rows == (None, None)
    assert found.notes == ("no image and text ids: rows are assumed to be in the order of coco-5k (Karpathy order)",)
    given = replace(given, image_of_text=coco.image_of)
    assert match_rows(given, "coco-5k").split.name == "coco-5k"
    turned = replace(given, image_of_text=coco.image_of[::-1])
    refuses(BadInput, match_rows, turned, "coco-5k")
    rng = np.random.default_rng(0)
    i, c = rng.permutation(5000), rng.permutation(25000)  # in any order of the rows
    owner = np.argsort(i)[coco.image_of[c]]
    mixed = coco_rows(coco, image_ids=coco.rows.ids[i], text_ids=coco.columns.ids[c], image_of_text=owner)
    assert match_rows(mixed).split.name == "coco-5k"


def test_rows_of_a_split_in_memory_with_one_caption_an_image(refuses: Refuses) -> None:
    split = TestSet.captioned("custom", np.arange(4) + 7, np.arange(4), np.array([1, 0, 3, 2]))
    given = rows_with(4, 4)
    found = match_rows(given, split)
    assert found.split is split and (found.rows, found.notes) == ((None, None), ())
    turned = match_rows(replace(given, image_ids=split.rows.ids[::-1]), split)
    assert turned.rows[0] is not None and turned.rows[0].tolist() == [3, 2, 1, 0]
    wrong = replace(given, image_of_text=np.arange(4))
    refuses(BadInput, match_rows, wrong, split)


# Rows without ids whose numbers are those of a declared split


@pytest.mark.parametrize(("images", "texts", "name"), [(5000, 25000, "coco-5k"), (1000, 5000, "f30k")])
def test_the_split_is_suggested(images: int, texts: int, name: str) -> None:
    rows = rows_with(images, texts)
    assert match_rows(rows).warnings == (suggestion(images, texts),) and f"split='{name}'" in suggestion(images, texts)
    assert match_rows(rows, "custom").warnings == match_rows(rows, None, 5).warnings == ()


@pytest.mark.parametrize("numbers", [(60, 300), (5000, 5000), (4992, 24960), (1014, 5070), (25000, 25000)])
def test_other_numbers(numbers: tuple[int, int]) -> None:
    assert suggestion(*numbers) == ""


def test_other_numbers_of_rows_than_the_split_has(coco: TestSet, refuses: Refuses) -> None:
    refuses(BadInput, match_rows, rows_with(4992, 24960), "coco-5k")
    refuses(UsageError, match_rows, coco_rows(coco), "coco-5k", 5)
