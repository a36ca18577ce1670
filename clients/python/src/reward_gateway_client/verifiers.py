"""verifiers and prime-rl: `--env.taskset.task.rewards.gateway.fn reward_gateway_client.verifiers:score`; the gateway
and the reward come from the environment."""

from typing import Any

from .result import floats_of, reward_of
from .sample import TRUTH_COLUMNS, Message, Sample
from .settings import reward_or_env
from .shared import shared_async_gateway


async def score(task: Any, trace: Any) -> float:
    """The reward of a trace's last reply. Its terms become the trace's metrics `gateway/<term>`. Raises if there is no
    reward, so that prime-rl leaves the trace out."""
    sample: Sample = {
        "prompt": _prompt(task),
        "response": trace.last_reply,
        "ground_truth": next(
            (getattr(task, name) for name in TRUTH_COLUMNS if getattr(task, name, None) is not None), None
        ),
        "extra_info": task.model_dump(mode="json", exclude_none=True) if hasattr(task, "model_dump") else {},
    }
    (result,) = await shared_async_gateway().score([sample], reward=reward_or_env(None))
    reward = reward_of(result)
    trace.record_metrics({f"gateway/{name}": value for name, value in floats_of(result).items()})
    return reward


def _prompt(task: Any) -> str | list[Message]:
    """Messages if the task has them, so that a system prompt keeps its role."""
    if isinstance(task.prompt, (list, tuple)):
        return [{"role": message.role, "content": _content(message.content)} for message in task.prompt]
    return str(task.prompt_text)


def _content(content: Any) -> Any:
    """Text, or the parts if there is anything but text."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = [_part(part) for part in content]
    if all(part.get("type", "text") == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts if part.get("text"))
    return parts


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, dict):
        return part
    return part.model_dump(mode="json", exclude_none=True) if hasattr(part, "model_dump") else {"text": part.text}
