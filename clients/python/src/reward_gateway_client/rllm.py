"""rLLM: `import_path = "reward_gateway_client.rllm:evaluate"` under `[verifier]` of the data set's dataset.toml. The
gateway and the reward come from the environment."""

from typing import Any

from rllm.eval.types import EvalOutput, Signal

from .result import reward_of
from .sample import Sample, sample_of, text_or_messages
from .settings import reward_or_env
from .shared import shared_gateway

_STATUS = {"max_response_length_exceeded": "truncated", "max_turns_exceeded": "tool_limit"}


def evaluate(task: Any, episode: Any) -> EvalOutput:
    """The reward of the episode's last trajectory; a term is a signal. `is_correct` says that the reward is at least 1.
    Raises for a sample without a reward: rLLM runs the rollout again, `retry_limit` times, and then ends the step, or
    leaves the rollout out (`raise_on_error=False`)."""
    sample = _sample(task, episode)
    (result,) = shared_gateway().score([sample], reward=reward_or_env(None))
    reward = reward_of(result)
    signals = [Signal(name, float(value)) for name, value in result.metrics.items() if value is not None]
    return EvalOutput(reward=reward, is_correct=reward >= 1, signals=signals)


def _sample(task: Any, episode: Any) -> Sample:
    trajectory = episode.trajectories[-1] if episode.trajectories else None
    steps = list(trajectory.steps) if trajectory else []
    prompt, response = _turns(steps)
    if not response:
        prompt, response = _asked(task.instruction), _text(episode, trajectory)
    sample = sample_of(prompt, response, task.metadata)
    length = sum(len(step.response_ids) for step in steps)
    if length:
        sample["tokens"] = {"response": length}
    versions = [step.weight_version for step in steps if step.weight_version is not None]
    if versions:
        sample["policy_version"] = {"first": versions[0], "last": versions[-1]}
    reason = getattr(episode.termination_reason, "value", episode.termination_reason)
    if reason in _STATUS:
        sample["status"] = _STATUS[reason]
    return sample


def _asked(instruction: Any) -> Any:
    """A text, messages, or the parts of one message."""
    if isinstance(instruction, str) or all("role" in one for one in instruction):
        return instruction
    return [{"role": "user", "content": instruction}]


def _turns(steps: list[Any]) -> tuple[Any, Any]:
    """What the first call was asked, and all messages since. If a later call was asked something else (its context was
    cut), only the last call is one conversation."""
    conversations = [step.chat_completions for step in steps if step.chat_completions]
    if not conversations:
        return "", []
    prompt, last = conversations[0][:-1], conversations[-1]
    if last[: len(prompt)] != prompt:
        prompt = last[:-1]
    return text_or_messages(prompt), text_or_messages(last[len(prompt) :])


def _text(episode: Any, trajectory: Any) -> str:
    """The answer of a flow without messages, in the order in which rLLM's own verifiers look for it."""
    if "answer" in episode.artifacts:
        return str(episode.artifacts["answer"])
    said = [trajectory.output] if trajectory else []
    for step in reversed(trajectory.steps if trajectory else ()):
        said += [step.output, step.model_response]
    return next((str(text) for text in said if text), "")
