"""A tokenizer that has no vocabulary: it hands the messages on to the model's own server."""

from __future__ import annotations

from typing import Any


class ChatText(str):
    """The text of a conversation that still knows its messages."""

    messages: list[dict[str, str]]


class PassingTokenizer:
    """Stands for the judge's tokenizer, as far as building a question needs one."""

    chat_template = "{# applied by the model's server #}"
    eos_token = ""
    bos_token = ""
    pad_token = ""

    def apply_chat_template(self, conversation: Any, *_: Any, **__: Any) -> Any:
        """One conversation, or a list; a generation prompt is the server's matter."""
        if conversation and isinstance(conversation[0], (list, tuple)):
            return [self.apply_chat_template(one) for one in conversation]
        messages = [{"role": str(m["role"]), "content": str(m["content"])} for m in conversation]
        text = ChatText("".join(f"{m['role']}: {m['content']}\n" for m in messages))
        text.messages = messages
        return text
