"""NeMo Gym: a resources server whose `/verify` is the gateway's. Its `app.py` says
`from reward_gateway_client.nemo_gym import RewardGatewayServer` and `RewardGatewayServer.run_webserver()`."""

import json

from fastapi import HTTPException
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.config_types import AggregateMetrics, AggregateMetricsRequest
from pydantic import ConfigDict

from .errors import GatewayRefused, GatewayUnreachable
from .shared import shared_async_gateway


class RewardGatewayConfig(BaseResourcesServerConfig):
    gateway_url: str
    reward: str
    group_size: int | None = None
    """The number of answers to a prompt, for rewards that compare them. Each answer waits for the others."""


class VerifyRequest(BaseVerifyRequest):
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class VerifyResponse(BaseVerifyResponse):
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class RewardGatewayServer(SimpleResourcesServer):
    """A sample without a reward is returned masked, as in the gateway's response. Without a response this fails with
    503, so that NeMo RL repeats the prompt. A refusal fails with the gateway's status and message."""

    config: RewardGatewayConfig

    async def verify(self, body: VerifyRequest) -> VerifyResponse:
        gateway = shared_async_gateway(self.config.gateway_url)
        row = body.model_dump(mode="json")
        path = f"/wire/nemo-gym/{self.config.reward}/verify"
        group = None
        if self.config.group_size is not None:
            path += f"?group_size={self.config.group_size}"
            group = row.get("_ng_group_id", row.get("_ng_task_index"))
        try:
            answer = await gateway.post(path, row, group=group)
        except GatewayRefused as refused:
            detail = {"code": refused.code, "message": str(refused), "problems": refused.problems}
            raise HTTPException(refused.status if refused.status >= 400 else 502, detail) from refused
        except GatewayUnreachable as unreachable:
            raise HTTPException(503, str(unreachable)) from unreachable
        response: VerifyResponse = VerifyResponse.model_validate(json.loads(answer))
        return response

    async def aggregate_metrics(self, body: AggregateMetricsRequest) -> AggregateMetrics:
        """Leaves out masked rows: their 0 is not a reward."""
        scored = [row for row in body.verify_responses if not row.get("mask_sample")]
        return await super().aggregate_metrics(AggregateMetricsRequest(verify_responses=scored))

    async def get_reverify_mode(self) -> str:
        """Whether `gym eval reverify` may score an answer again without its group."""
        return "stateless" if self.config.group_size is None else "unknown"
