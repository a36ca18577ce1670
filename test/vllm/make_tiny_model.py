"""Writes a model small enough to be served by vLLM without a GPU: a config, random weights and a tokenizer of its own.

usage: make_tiny_model.py FOLDER {generate,classify,vision,steps,tokens}

Its answers mean nothing, but they are the same each time at temperature 0. `vision` sees images: a Qwen2-VL of two layers,
whose prompt grows by a token for 28 by 28 pixels. `steps` has the form of Qwen2.5-Math-PRM, two
numbers per mark of a step, and `tokens` answers as Skywork's models do, with a number per token.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    Qwen2Model,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
)

END_OF_TEXT, TURN, END_OF_TURN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
REWARDS = {"steps": ("Qwen2ForProcessRewardModel", 2), "tokens": ("Qwen2ForRewardModel", 1)}
STEPS = ["<extra_0>", "<|fim_pad|>"]
VISION = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    f"{{{{- '{TURN}' + message.role + '\\n' + message.content + '{END_OF_TURN}\\n' }}}}"
    "{%- endfor %}"
    f"{{%- if add_generation_prompt %}}{{{{- '{TURN}assistant\\n' }}}}{{%- endif %}}"
)

# As Qwen2-VL's own: an image stands where its part stood.
VISION_TEMPLATE = (
    "{%- for message in messages %}"
    f"{{{{- '{TURN}' + message.role + '\\n' }}}}"
    "{%- if message.content is string %}{{- message.content }}{%- else %}"
    "{%- for part in message.content %}"
    "{%- if part.type == 'text' %}{{- part.text }}"
    "{%- else %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}{%- endif %}"
    "{%- endfor %}{%- endif %}"
    f"{{{{- '{END_OF_TURN}\\n' }}}}"
    "{%- endfor %}"
    f"{{%- if add_generation_prompt %}}{{{{- '{TURN}assistant\\n' }}}}{{%- endif %}}"
)


def tiny_tokenizer(template: str = CHAT_TEMPLATE) -> PreTrainedTokenizerFast:
    """Bytes and a few words of a judge: any text has tokens, and 0 and 1 are one token each."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=512,
        initial_alphabet=ByteLevel.alphabet(),
        special_tokens=[END_OF_TEXT, TURN, END_OF_TURN, *VISION, *STEPS],
        show_progress=False,
    )
    words = "system user assistant question answer right wrong yes no true false 0 1"
    tokenizer.train_from_iterator([words] * 4, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END_OF_TURN, pad_token=END_OF_TEXT)
    fast.chat_template = template
    return fast


def tiny_shape(tokenizer: PreTrainedTokenizerFast) -> dict[str, int | bool | None]:
    """Two layers of two heads."""
    return {
        "vocab_size": 512,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def write_vision(folder: Path) -> None:
    """A Qwen2-VL with its processors, which vLLM asks for the size of an image."""
    tokenizer = tiny_tokenizer(VISION_TEMPLATE)
    start, end, image, video = tokenizer.convert_tokens_to_ids(VISION)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 12, 12]}
    config = Qwen2VLConfig(
        text_config={**tiny_shape(tokenizer), "rope_parameters": rope, "use_sliding_window": False},
        vision_config={"depth": 2, "embed_dim": 64, "hidden_size": 128, "num_heads": 2},
        vision_start_token_id=start,
        vision_end_token_id=end,
        image_token_id=image,
        video_token_id=video,
    )
    Qwen2VLForConditionalGeneration(config).to(torch.float32).save_pretrained(folder)
    sizes = {"size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 256}}
    processor = Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(**sizes),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**sizes),
        chat_template=VISION_TEMPLATE,
    )
    processor.save_pretrained(folder)


def write_process_model(tokenizer: PreTrainedTokenizerFast, folder: Path, architecture: str, numbers: int) -> None:
    """Numbers for each token, by two layers over the last hidden states."""
    config = Qwen2Config(num_labels=numbers, architectures=[architecture], **tiny_shape(tokenizer))
    weights = {f"model.{name}": value for name, value in Qwen2Model(config).state_dict().items()}
    for layer, size in ((0, config.hidden_size), (2, numbers)):
        weights[f"score.{layer}.weight"] = torch.randn(size, config.hidden_size) / 8
        weights[f"score.{layer}.bias"] = torch.randn(size) / 8
    config.save_pretrained(folder)
    save_file({name: value.float().contiguous() for name, value in weights.items()}, folder / "model.safetensors")


def main(folder: Path, kind: str) -> None:
    """Writes the model of this kind into the folder."""
    torch.manual_seed(0)
    if kind == "vision":
        write_vision(folder)
        return
    tokenizer = tiny_tokenizer()
    if kind in REWARDS:
        write_process_model(tokenizer, folder, *REWARDS[kind])
        tokenizer.save_pretrained(folder)
        return
    config = Qwen2Config(num_labels=1, **tiny_shape(tokenizer))
    model = Qwen2ForCausalLM(config) if kind == "generate" else Qwen2ForSequenceClassification(config)
    model.to(torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("generate", "classify", "vision", *REWARDS):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2])
