"""verifiers and prime-rl: `--env.taskset.task.rewards.gateway.fn reward_gateway_client.verifiers:score`; the gateway
and the reward come from the environment."""

from collections.abc import Sequence
from typing import Any

from .result import floats_of, reward_of
from .sample import TRUTH_COLUMNS, Message, Sample, message_of
from .settings import reward_or_env
from .shared import score_shared


async def score(task: Any, trace: Any) -> float:
    """The reward of a trace: all turns of its last branch, as in `trace.transcript`, with tool calls, results, images
    and reasoning. Its terms become the trace's metrics `gateway/<term>`. Raises if there is no reward, so that prime-rl
    leaves the trace out."""
    prompt, response = _turns(trace)
    sample: Sample = {
        "prompt": prompt or _prompt(task),
        "response": response,
        "ground_truth": next(
            (getattr(task, name) for name in TRUTH_COLUMNS if getattr(task, name, None) is not None), None
        ),
        "extra_info": task.model_dump(mode="json", exclude_none=True) if hasattr(task, "model_dump") else {},
    }
    if (status := _status(trace)) is not None:
        sample["status"] = status
    (result,) = await score_shared([sample], reward=reward_or_env(None))
    reward = reward_of(result)
    trace.record_metrics({f"gateway/{name}": value for name, value in floats_of(result).items()})
    return reward


def _turns(trace: Any) -> tuple[list[Message], str | list[Message]]:
    """What was asked, and all turns from the first that the policy sampled. If agents of their own answered for the
    trace, the branch is the one that ends with its reply; without such a branch, the reply alone is known."""
    reply = getattr(trace, "root_reply", None)
    for branch in reversed(getattr(trace, "branches", ())):
        nodes = branch.nodes
        first = next((at for at, node in enumerate(nodes) if node.sampled), None)
        if first is None or (reply is not None and not _ends_with(nodes, reply)):
            continue
        messages = [message_of(node.message) for node in nodes]
        return messages[:first], messages[first:]
    return [], trace.last_reply


def _ends_with(nodes: Sequence[Any], reply: str) -> bool:
    last = next((node.message for node in reversed(nodes) if node.sampled), None)
    return last is not None and (last.content or "").strip() == reply.strip()


def _status(trace: Any) -> str | None:
    """How the rollout ended, as far as it did not end by itself."""
    if getattr(trace, "stop_condition", None) == "max_turns":
        return "tool_limit"
    return "truncated" if getattr(trace, "is_truncated", False) else None


def _prompt(task: Any) -> str | list[Message]:
    """Messages if the task has them, so that a system prompt keeps its role."""
    if isinstance(task.prompt, (list, tuple)):
        return [message_of(message) for message in task.prompt]
    return str(task.prompt_text)
