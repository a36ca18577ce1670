"""AReaL's workflows with rewards of the gateway. Name one instead of AReaL's own, with the same settings;
`reward_fn` may be left out: `workflow="reward_gateway_client.areal_workflow.GatewayRLVRWorkflow"`.

AReaL's own workflows run the reward function in a pool of processes, and train with 0 if an answer takes longer than
15 s from the moment at which it was queued. These await the gateway in the event loop: no pool, no limit of 15 s, and a
sample without a reward rejects its rollout."""

from typing import Any

from areal.workflow.multi_turn import MultiTurnWorkflow
from areal.workflow.rlvr import RLVRWorkflow
from areal.workflow.vision_rlvr import VisionRLVRWorkflow

from .areal import awaited_reward, gateway_reward, generated


class _Heard:
    """An engine whose last response the reward can read: why it stopped, and the policy version of each token."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def agenerate(self, *arguments: Any, **named: Any) -> Any:
        response = await self._engine.agenerate(*arguments, **named)
        generated.set(response)
        return response


class _Awaited:
    """Replaces the wrapper with a pool, which starts no process before its first call."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "reward_fn": gateway_reward})
        self.async_reward_fn = awaited_reward

    async def arun_episode(self, engine: Any, data: Any) -> Any:
        return await super().arun_episode(_Heard(engine), data)  # type: ignore[misc]


class GatewayRLVRWorkflow(_Awaited, RLVRWorkflow):  # type: ignore[misc]
    """One turn."""


class GatewayVisionRLVRWorkflow(_Awaited, VisionRLVRWorkflow):  # type: ignore[misc]
    """One turn about images."""


class GatewayMultiTurnWorkflow(_Awaited, MultiTurnWorkflow):  # type: ignore[misc]
    """Asks again while the reward is 0. Each try is scored with the prompt and the answer of its own turn."""
