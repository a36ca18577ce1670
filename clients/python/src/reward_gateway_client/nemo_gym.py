"""NeMo Gym: a resources server whose `/verify` is the gateway's. Its `app.py` says
`from reward_gateway_client.nemo_gym import RewardGatewayServer` and `RewardGatewayServer.run_webserver()`."""

import json

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import ConfigDict

from .shared import shared_async_gateway


class RewardGatewayConfig(BaseResourcesServerConfig):
    gateway_url: str
    reward: str
    group_size: int | None = None
    """Answers to one prompt, for rewards that compare them; each waits for the others."""


class VerifyRequest(BaseVerifyRequest):
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class VerifyResponse(BaseVerifyResponse):
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class RewardGatewayServer(SimpleResourcesServer):
    """A sample without a reward comes back masked, as the gateway says it; without an answer this fails with a 5xx,
    upon which NeMo RL does the prompt again."""

    config: RewardGatewayConfig

    async def verify(self, body: VerifyRequest) -> VerifyResponse:
        gateway = shared_async_gateway(self.config.gateway_url)
        row = body.model_dump(mode="json")
        path = f"/wire/nemo-gym/{self.config.reward}/verify"
        group = None
        if self.config.group_size is not None:
            path += f"?group_size={self.config.group_size}"
            group = row.get("_ng_group_id", row.get("_ng_task_index"))
        answer = await gateway.post(path, row, group=group)
        response: VerifyResponse = VerifyResponse.model_validate(json.loads(answer))
        return response
