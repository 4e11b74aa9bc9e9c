"""Tiny CLIP models with random weights, in folders as their libraries write them, and images with captions.

Nothing is downloaded: the configurations and the vocabulary are made here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

CONTEXT = 12  # tokens
OPEN_CLIP = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": CONTEXT, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
PREPROCESS = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3], "interpolation": "bilinear", "resize_mode": "squash"}


def open_clip_folder(folder: Path, seed: int = 0, **text: str) -> Path:
    """A model of open_clip: its configuration, with more settings of its text encoder, and weights."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    torch.manual_seed(seed)
    model = open_clip.CLIP(**OPEN_CLIP)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    model_cfg = {**OPEN_CLIP, "text_cfg": {**OPEN_CLIP["text_cfg"], **text}}  # type: ignore[dict-item]
    config = {"model_cfg": model_cfg, "preprocess_cfg": PREPROCESS}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return folder


def transformers_folder(folder: Path, seed: int = 0) -> Path:
    """A CLIP model of transformers with its processor; its words are single characters and a few pairs of them."""
    import torch
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    letters = sorted(ByteLevel.alphabet())
    merges = [("a", "t"), ("o", "g</w>"), ("d", "og</w>")]
    words = [*letters, *(f"{letter}</w>" for letter in letters), *("".join(pair) for pair in merges)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=CONTEXT)
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    size: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    size |= {"num_attention_heads": 2, "projection_dim": 16}
    end = vocabulary["<|endoftext|>"]
    special = {"bos_token_id": end - 1, "eos_token_id": end, "pad_token_id": end}
    torch.manual_seed(seed)
    config = CLIPConfig(
        text_config={**size, **special, "vocab_size": len(words), "max_position_embeddings": CONTEXT},
        vision_config={**size, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    CLIPModel(config).save_pretrained(folder)
    CLIPProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def siglip_folder(folder: Path, seed: int = 0) -> tuple[Path, Any, Any]:
    """A SigLIP model of transformers, its model and its tokenizer, which makes tokens of characters without a mask."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    words = ["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz0123456789 ./"]
    inner = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "model_input_names": ["input_ids"]}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=32, **special)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {**size, "vocab_size": len(words), "max_position_embeddings": 32, "projection_size": 32}
    torch.manual_seed(seed)
    vision = {**size, "image_size": 32, "patch_size": 8}
    model = SiglipModel(SiglipConfig(text_config={**text, "pad_token_id": 0, "eos_token_id": 1}, vision_config=vision))
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder)
    images = SiglipImageProcessor(size={"height": 32, "width": 32})
    SiglipProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder, model.eval(), tokenizer


def sentence_folder(folder: Path, seed: int = 0) -> Path:
    """The same model, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(transformers_folder(folder.with_name(f"{folder.name}-source"), seed))).save(str(folder))
    return folder


def photos(folder: Path, names: list[str], seed: int = 0) -> Path:
    """Images of random pixels under these names, which may have folders; their sizes differ."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    for number, name in enumerate(names):
        pixels = rng.integers(0, 256, (34 + 3 * number, 50 - number, 3), np.uint8)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
    return folder


def captions_csv(path: Path, names: list[str], per_image: int = 2) -> Path:
    """A table of captions: ``image,caption``."""
    rows = [f"{name},a dog of {name} sat {n}" for name in names for n in range(per_image)]
    path.write_text("image,caption\n" + "\n".join(rows) + "\n")
    return path
