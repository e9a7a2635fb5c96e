"""Tiny audio models with random weights, built on the spot and saved as their big sisters are. They hear, and say nonsense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2_5OmniThinkerConfig,
    Qwen2_5OmniThinkerForConditionalGeneration,
    Qwen2AudioConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    Wav2Vec2Config,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForSequenceClassification,
    WhisperFeatureExtractor,
)

SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>",
    "<|vision_bos|>", "<|vision_eos|>", "<|vision_pad|>", "<|IMAGE|>", "<|VIDEO|>",
]  # fmt: skip
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CORPUS = ["user assistant system option answer situation reason listen A B C D 1 2 3 4 声音 选项 回答"] * 8


def tokenizer_make() -> PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(CORPUS, trainer)
    names = ("image", "audio", "video")
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        chat_template=TEMPLATE,
        extra_special_tokens={
            **{f"{name}_token": f"<|{name.upper()}|>" for name in names},
            "vision_bos_token": "<|vision_bos|>",
            "vision_eos_token": "<|vision_eos|>",
            "audio_bos_token": "<|audio_bos|>",
            "audio_eos_token": "<|audio_eos|>",
        },
    )


def _saved(model: Any, tokenizer: Any, folder: Path) -> Path:
    extractor = WhisperFeatureExtractor(feature_size=128, return_attention_mask=True)
    processor = Qwen2AudioProcessor(feature_extractor=extractor, tokenizer=tokenizer, chat_template=TEMPLATE)
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def qwen2_audio(folder: Path, *, wide: bool = False) -> Path:
    """A Qwen2-Audio of about a million parameters, whole; ``wide`` has heads of a size that vLLM takes."""
    torch.manual_seed(0)
    tokenizer = tokenizer_make()
    config = Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder", "num_mel_bins": 128, "encoder_layers": 2, "encoder_attention_heads": 2,
            "encoder_ffn_dim": 64, "d_model": 128 if wide else 32, "max_source_positions": 1500,
        },
        text_config={
            "model_type": "qwen2", "vocab_size": len(tokenizer), "hidden_size": 128 if wide else 64, "intermediate_size": 128,
            "num_hidden_layers": 2, "num_attention_heads": 2 if wide else 4, "num_key_value_heads": 1 if wide else 2,
            "max_position_embeddings": 8192,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )  # fmt: skip
    _saved(Qwen2AudioForConditionalGeneration(config), tokenizer, folder)
    weights = load_file(folder / "model.safetensors")
    named = {
        name.replace("language_model.model.model.", "language_model.model."): part for name, part in weights.items()
    }
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})  # as published; 5.19 saves it otherwise
    return folder


def qwen2_5_omni_thinker(folder: Path) -> Path:
    """A Qwen2.5-Omni thinker of about a quarter of a million parameters."""
    torch.manual_seed(0)
    tokenizer = tokenizer_make()
    index = tokenizer.convert_tokens_to_ids
    config = Qwen2_5OmniThinkerConfig(
        audio_config={
            "num_mel_bins": 128, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 64, "d_model": 32,
            "max_source_positions": 1500, "n_window": 100, "output_dim": 64,
        },
        vision_config={
            "depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
            "fullatt_block_indexes": [0],
        },
        text_config={
            "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
            "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "tie_word_embeddings": False,
        },
        audio_token_index=index("<|AUDIO|>"),
        image_token_index=index("<|IMAGE|>"),
        video_token_index=index("<|VIDEO|>"),
        audio_start_token_id=index("<|audio_bos|>"),
        audio_end_token_id=index("<|audio_eos|>"),
        user_token_id=index("user"),
        vision_start_token_id=index("<|vision_bos|>"),
        vision_end_token_id=index("<|vision_eos|>"),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return _saved(Qwen2_5OmniThinkerForConditionalGeneration(config), tokenizer, folder)


def emotion_model(folder: Path, labels: list[str]) -> Path:
    """A wav2vec 2.0 classifier with a few thousand parameters and these labels."""
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        conv_dim=(16, 16), conv_kernel=(10, 8), conv_stride=(5, 8), num_feat_extract_layers=2,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, classifier_proj_size=32,
        id2label=dict(enumerate(labels)), label2id={label: place for place, label in enumerate(labels)},
    )  # fmt: skip
    Wav2Vec2ForSequenceClassification(config).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    return folder


def dimension_model(folder: Path) -> Path:
    """As ``emotion_model``, with the regression head of audeering's weights and their order of dimensions."""
    emotion_model(folder, ["arousal", "dominance", "valence"])
    weights = load_file(folder / "model.safetensors")
    body = {name: value for name, value in weights.items() if name.startswith("wav2vec2.")}
    torch.manual_seed(1)
    head = {
        "classifier.dense.weight": torch.randn(32, 32) * 0.2,
        "classifier.dense.bias": torch.zeros(32),
        "classifier.out_proj.weight": torch.randn(3, 32) * 0.2,
        "classifier.out_proj.bias": torch.full((3,), 0.5),
    }
    save_file({**body, **head}, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["Wav2Vec2ForSpeechClassification"]}))
    return folder
