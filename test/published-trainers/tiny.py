"""A tokenizer of single characters and a model of two layers, made here: nothing is downloaded."""

from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CHARACTERS = f"{LETTERS}{LETTERS.upper()}0123456789 \n.,:;?!'\"()[]{{}}<>|/\\_#*+-="
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer(characters: str = CHARACTERS) -> PreTrainedTokenizerFast:
    """A token a character, beside the three of ChatML; any other character is dropped."""
    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *characters])}
    whole = Tokenizer(models.WordLevel(vocabulary, unk_token="<|endoftext|>"))
    whole.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    whole.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def model(vocabulary: int, seed: int) -> Qwen2ForCausalLM:
    """Random weights: 2 layers, hidden size 64."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=vocabulary,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=2,
            pad_token_id=0,
        )
    )


def saved(folder: Path) -> Path:
    """The tokenizer as a folder, for trainers that load one by its path."""
    tokenizer().save_pretrained(folder)
    return folder
