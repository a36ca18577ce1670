"""Writes a model small enough to be served by vLLM without a GPU: a config, random weights and a tokenizer of its own.

usage: make_tiny_model.py FOLDER {generate,classify}

Its answers mean nothing, but they are the same each time at temperature 0.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen2ForSequenceClassification

END_OF_TEXT, TURN, END_OF_TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    f"{{{{- '{TURN}' + message.role + '\\n' + message.content + '{END_OF_TURN}\\n' }}}}"
    "{%- endfor %}"
    f"{{%- if add_generation_prompt %}}{{{{- '{TURN}assistant\\n' }}}}{{%- endif %}}"
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes and a few words of a judge: any text has tokens, and 0 and 1 are one token each."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=512,
        initial_alphabet=ByteLevel.alphabet(),
        special_tokens=[END_OF_TEXT, TURN, END_OF_TURN],
        show_progress=False,
    )
    words = "system user assistant question answer right wrong yes no true false 0 1"
    tokenizer.train_from_iterator([words] * 4, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END_OF_TURN, pad_token=END_OF_TEXT)
    fast.chat_template = CHAT_TEMPLATE
    return fast


def tiny_config(tokenizer: PreTrainedTokenizerFast) -> Qwen2Config:
    """Two layers of two heads; one number where it classifies."""
    return Qwen2Config(
        vocab_size=512,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        num_labels=1,
        bos_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def main(folder: Path, kind: str) -> None:
    """Writes the model of this kind into the folder."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    config = tiny_config(tokenizer)
    model = Qwen2ForCausalLM(config) if kind == "generate" else Qwen2ForSequenceClassification(config)
    model.to(torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("generate", "classify"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2])
