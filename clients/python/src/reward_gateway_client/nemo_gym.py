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
        answer = await gateway.post(f"/wire/nemo-gym/{self.config.reward}/verify", body.model_dump(mode="json"))
        response: VerifyResponse = VerifyResponse.model_validate(json.loads(answer))
        return response
