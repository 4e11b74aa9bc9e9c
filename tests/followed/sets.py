"""Fixes of test sets, scenes, encoders, human judgements, leaderboards, SPICE and training.

Most need files as others publish them, a parser, a GPU or a training run: a test that makes these follows the fix.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vsebench as vb
from tests import human_files
from tests.followed.case import By, Followed, after, write
from vsebench.errors import BadInput

SCENES = "scenes-12-size16"
HUMAN = after(lambda: human_files.flickr8k(Path("f")))


def damaged() -> None:
    """Scenes whose captions are cut."""
    (file,) = Path("cache").rglob("captions.jsonl")
    file.write_text(file.read_text(encoding="utf-8")[:-9], encoding="utf-8")


def labelled(**options: object) -> object:
    """Vectors and classes of a gallery."""
    vectors = np.random.default_rng(0).standard_normal((12, 3))
    return vb.evaluate_unimodal(vectors, np.arange(12) % 3, **{"metrics": "MLD@3", "ci": 0, **options})  # type: ignore[arg-type]


FOLLOWED: list[Followed | By] = [
    # Test sets.
    By(
        r"^run: vsebench data build (?!f30k|coco)[\w:.-]+ --from PATH, with ",
        "test_a_set_is_built_from_files_in_its_published_layout",
    ),
    By(r"^run: vsebench data build f30k --from", "test_real_flickr_lines_in_any_order_and_as_a_karpathy_file"),
    By(r"^build it again: vsebench data build f30k", "test_real_flickr_lines_in_any_order_and_as_a_karpathy_file"),
    By(r"^pip install 'vsebench\[text\]', or run: vsebench data build", "test_real_coco_lines_equal_the_packages"),
    By(r"^build it again: vsebench data build mine --replace", "test_a_damaged_file_is_named_and_disturbs_no_other"),
    By(r"^add replace=True to build it again(, or choose another name)?$", "test_a_failed_build_leaves_the_older_one"),
    By(
        r"^give split='copy' or split='mine'$",
        "test_ids_of_two_data_sets_are_refused_and_numbers_of_rows_decide_nothing",
    ),
    By(r"^(give its folder where it is used: )?vsebench choice FILE --set", "test_a_set_by_name_is_in_the_cache"),
    Followed(
        r"^vsebench downloads no data: run vsebench data list .*, and vsebench data build NAME --from FILE to read",
        "data get f30k",
        ("data list", "f30k"),
        (write("c.csv", "image_id,caption_id,caption\na,1,a dog\nb,2,a cat\n"), "data build mine --from c.csv", None),
    ),
    # Languages.
    By(r"^give the report of one language; vb\.compare", "test_reports_of_languages_are_joined_from_their_files"),
    By(r"^write the system and the language, as in ours:de=FILE", "test_languages_of_two_systems_are_refused"),
    By(r"^give one of xtd10:de, xtd10:it, xtd10:jp;", "test_the_language_is_that_of_the_ids_or_of_a_name_in_capitals"),
    # Scenes.
    Followed(
        r"^build it again: vsebench data build scenes-[\w-]+ --replace$",
        (f"data build {SCENES}", damaged, lambda: vb.load_split(f"{SCENES}-test", captions=True)),
        (
            f"data build {SCENES} --replace",
            lambda: len(vb.load_split(f"{SCENES}-test", captions=True).columns.texts or ()) > 0,
            1.0,
        ),
    ),
    By(r"^give (--split scenes-10k-test|split='scenes-10k-test')", "test_gains_of_other_splits_are_refused"),
    # Human judgements.
    Followed(
        r"^run: curl -LO .* and add (--human-data Flickr8k_text|human_data='Flickr8k_text') \(or put the files into ",
        "correlate flickr8k --gains binary --ci 0",
        (HUMAN, "correlate flickr8k --gains binary --ci 0 --human-data f", "Expert"),
        (lambda: str(vb.correlate("flickr8k", gains="binary", human_data="f", ci=0)), "Expert"),
    ),
    Followed(
        r"^(\(1\) )?run: git clone .* and add (--human-data|human_data=)",
        "correlate cxc --gains binary",
        (
            lambda: human_files.cxc(Path("f"), "sits", []),
            "correlate cxc --gains binary --tasks sits --human-data f",
            BadInput,
        ),
    ),
    By(r"^run: cut -f2 Flickr8k\.token\.txt > texts\.txt, and vsebench spice", "test_spice_on_flickr8k_as_published"),
    Followed(
        r"^give gains \(gains=NAMES\) or embeddings \(embeddings=FILE\)$",
        (HUMAN, lambda: vb.correlate("flickr8k", gains=(), human_data="f")),
        (lambda: str(vb.correlate("flickr8k", gains="binary", human_data="f", ci=0)), "Expert"),
    ),
    # Leaderboards and reports.
    By(
        r"^choose another --id, or add --replace$|^evaluate again: vsebench eval FILE -o |^give it a name$|"
        r"^evaluate fewer metrics",
        "test_add_refuses",
    ),
    By(r"^write the report again, with its per-query values$", "test_a_submission_is_computed_again"),
    By(r"^pass another folder with --out$", "test_build_and_check"),
    By(r"^pass the folder with --folder, or restore the file$", "test_commands"),
    By(r"^run python -m studies\.suites NAME --out ", "test_a_suite_that_learns_prints_its_table"),
    By(r"^store the numbers with --update$", "test_every_number_that_moves_is_named"),
    # Pretrained models and devices.
    By(
        r"^give --images DIR, and --captions FILE or --split NAME$|^give --captions FILE, or --split NAME for a "
        r"declared split$"
        r"|^give --images and --captions or --split$|^add --split NAME, or give a table with the columns image "
        r"and caption$",
        "test_the_file_is_evaluated_by_its_ids",
    ),
    By(r"^give captions=FILE, or split=NAME for a declared split$", "test_what_is_wrong_is_named"),
    By(
        r"^write (mine=t2i:m.npy:rows=captions|s.npy:rows=texts) or",
        "test_the_rows_of_a_square_matrix_of_t2i_are_stated",
    ),
    By(r"^write t2i=.*:rows=texts or", "test_a_square_matrix_of_texts_by_images_is_asked_for_its_rows"),
    By(r"^save the captions alone, without", "test_a_mask_of_captions_is_refused_with_its_way_out"),
    By(r"^use backend='numpy', or hide the GPU with CUDA_VISIBLE_DEVICES=$", "test_index_of_a_gpu"),
    By(r"^use backend='numpy', or install a torch that has code for", "test_auto_leaves_a_gpu_that_does_not_work"),
    By(r"^stop other programs on it, or use backend='numpy'$", "test_too_little_memory"),
    # SPICE.
    By(r"^run: vsebench cache spice --clear", "test_clear"),
    By(r"^(\(1\) .*; \(2\) )?run: vsebench spice", "test_captions_are_parsed_and_written"),
    By(r"^use a newer Java \(.*\), or give it more memory \(", "test_a_parser_that_does_not_work_is_explained"),
    By(
        r"^pip install 'vsebench\[spice\]', which includes a Java, or set one: VSEBENCH_JAVA=PATH$",
        "test_missing_tools_name_the_command",
    ),
    By(
        r"^if it has a list of tuples for every caption, add (synsets=|--synsets )FILE|^leave out --split and "
        r"--captions, or add --synsets FILE for rows of tuples|^add --split coco-5k, for example$",
        "test_rows_of_tuples_need_synsets",
    ),
    # One modality.
    Followed(
        r"^add labels_are='classes' or labels_are='numbers'$",
        labelled,
        (lambda: labelled(labels_are="classes"), None),
        (lambda: labelled(labels_are="numbers"), None),
    ),
    By(r"^add --labels-are classes or --labels-are numbers$", "test_the_command_asks_what_labels_are"),
    By(r"^give labels_are='classes'$", "test_missing_classes_and_strings_as_numbers"),
    By(
        r"^give fewer queries, or leave them in the gallery \(keep_queries=True\)$|^encode it again, or rank by "
        r"similarity='euclidean'$",
        "test_wrong_inputs",
    ),
    By(r"^give the name of the array with (labels_key|key)=KEY$", "test_labels_that_are_refused"),
    By(
        r"^add label_distance='(precomputed|miou)' or label_distance='euclidean'$|^write miou:ignore=255$",
        "test_the_shape_decides_the_distance",
    ),
    Followed(
        r"^give (--metrics |metrics=')nDCG@10,MLD@10'? or all$",
        lambda: labelled(labels_are="classes", metrics=""),
        (lambda: labelled(labels_are="classes", metrics="nDCG@10,MLD@10"), None),
    ),
    # Training.
    By(r"^use the same configuration, choose another folder", "test_a_loss_of_a_file_is_trained_and_resumed"),
    By(r"^continue it with the same command and --resume, or:", "test_an_interrupted_run_says_how_to_continue"),
    By(
        r"^resume the run \(--resume, or resume=True\), or choose another",
        "test_a_folder_with_a_run_is_not_overwritten",
    ),
    By(r"^set train\.deterministic=false$", "test_pooling_without_a_deterministic_gradient_is_refused_before_training"),
    By(
        r"^set model\.crop=center, model\.pretrained=true and model\.finetune=false$",
        "test_settings_that_cannot_be_used_are_found_before_training",
    ),
    By(
        r"^vsebench unimodal run/embeddings\.npz --labels run/embeddings\.npz$",
        "test_images_are_trained_by_the_distances_of_their_layouts",
    ),
    By(r"^put spaces between their words, or set data\.word_count=1$", "test_a_vocabulary_needs_words"),
    By(
        r"^pass --captions FILE \(data\.captions\)$",
        "test_a_file_of_vectors_with_captions_is_trained_on_from_the_command_line",
    ),
    By(r"^set data\.images=FOLDER$", "test_image_files_that_are_wrong"),
    By(
        r"^save them: numpy\.savez\('labels\.npz'|^give the name of the array with --key KEY$"
        r"|^give scenes-10k, a folder with",
        "test_settings_that_the_data_do_not_take",
    ),
    By(r"^for images alone use none, labels and log_ratio", "test_settings_that_do_not_fit_images_alone"),
]
