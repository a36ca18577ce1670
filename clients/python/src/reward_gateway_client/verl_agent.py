"""verl's tool agent, which tells RewardGatewayManager where turns begin and what images tools gave: verl itself keeps
both from a reward that is computed while other rollouts go on. In the file of
`actor_rollout_ref.rollout.agent.agent_loop_config_path`:

- name: tool_agent
  _target_: reward_gateway_client.verl_agent.RewardGatewayToolAgent
"""

from typing import Any

from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop

from .images import is_image
from .verl import IMAGES, MASK


class RewardGatewayToolAgent(ToolAgentLoop):
    """Adds the response mask, and the images that came after the prompt, to the output's fields."""

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs: Any) -> Any:
        asked = sum(
            is_image(part)
            for message in kwargs.get("raw_prompt", ())
            for part in (message["content"] if isinstance(message.get("content"), list) else ())
        )
        output = await super().run(sampling_params, priority=priority, **kwargs)
        output.extra_fields[MASK] = list(output.response_mask)
        images = list((output.multi_modal_data or {}).get("images") or ())[asked:]
        if images:
            output.extra_fields[IMAGES] = images
        return output
