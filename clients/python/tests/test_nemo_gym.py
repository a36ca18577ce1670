"""The resources server, as NeMo Gym's web framework calls it. Gym itself is not installed: its base classes are as
small as the adapter needs them."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from reward_gateway_client import shared
from scripted import ScriptedServer, reset, status


class Model:
    """Replaces a pydantic model: accepts any fields."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return dict(self.__dict__)

    @classmethod
    def model_validate(cls, fields: dict[str, Any]) -> "Model":
        return cls(**fields)


class HTTPException(Exception):
    def __init__(self, status_code: int, detail: Any = None) -> None:
        super().__init__(status_code, detail)
        self.status_code = status_code
        self.detail = detail


class SimpleResourcesServer:
    def __init__(self, config: Any) -> None:
        self.config = config

    async def aggregate_metrics(self, body: Any) -> Any:
        """Like Gym's own, counts every row."""
        return [row["reward"] for row in body.verify_responses]


@pytest.fixture
def gym(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A resources server for a gateway, a reward and a group size."""
    modules = {
        "fastapi": {"HTTPException": HTTPException},
        "pydantic": {"ConfigDict": dict},
        "nemo_gym": {},
        "nemo_gym.base_resources_server": {
            "BaseResourcesServerConfig": Model,
            "BaseVerifyRequest": Model,
            "BaseVerifyResponse": Model,
            "SimpleResourcesServer": SimpleResourcesServer,
        },
        "nemo_gym.config_types": {"AggregateMetrics": Model, "AggregateMetricsRequest": Model},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "reward_gateway_client.nemo_gym", raising=False)
    from reward_gateway_client import nemo_gym

    def server(url: str, reward: str = "same", group_size: int | None = None) -> Any:
        config = SimpleNamespace(gateway_url=url, reward=reward, group_size=group_size)
        return nemo_gym.RewardGatewayServer(config)  # type: ignore[call-arg]

    return server


def run(work: Any) -> Any:
    async def whole() -> Any:
        try:
            return await work
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())


def row(text: str, **fields: Any) -> Model:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    asked = {"input": [{"role": "user", "content": "ask"}]}
    return Model(responses_create_params=asked, response={"output": [message]}, level=3, **fields)


def test_a_sample_comes_back_with_its_reward_or_masked(gym: Any, gateway_url: str) -> None:
    scored = run(gym(gateway_url).verify(row("x", expected_answer="7")))
    assert (scored.reward, scored.mask_sample, scored.expected_answer) == (1, False, "7")
    masked = run(gym(gateway_url).verify(row("throw", expected_answer="7")))
    assert (masked.reward, masked.mask_sample) == (0, True)
    assert masked._ng_failure_class == "verifier_error"


def test_a_refusal_comes_back_with_the_gateways_own_status_and_words_m49(
    gym: Any, gateway_url: str, scripted: ScriptedServer
) -> None:
    for server, code, words in (
        (gym(gateway_url, "same", group_size=4), 400, "_ng_rollout_index"),
        (gym(gateway_url, "sme"), 404, "did you mean 'same'"),
    ):
        with pytest.raises(HTTPException) as refused:
            run(server.verify(row("x", _ng_task_index=0)))
        assert refused.value.status_code == code
        assert words in refused.value.detail["message"]
        assert refused.value.detail["code"].startswith("RG_")
    scripted.answers = [status(401, "RG_UNAUTHORIZED")]
    with pytest.raises(HTTPException) as refused:
        run(gym(scripted.url).verify(row("x")))
    assert refused.value.status_code == 401


def test_no_answer_is_a_503_upon_which_the_prompt_is_done_again_m49(
    gym: Any, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reward_gateway_client.retry.FIRST_PAUSE_S", 0.001)
    monkeypatch.setenv("REWARD_GATEWAY_RETRIES", "2")
    scripted.answers = [reset] * 3
    with pytest.raises(HTTPException, match="no response from the gateway") as away:
        run(gym(scripted.url).verify(row("x")))
    assert away.value.status_code == 503


def test_masked_rows_are_in_no_aggregate_and_groups_are_not_verified_again_m49(gym: Any, gateway_url: str) -> None:
    rows = [{"reward": 1.0, "mask_sample": False}, {"reward": 0.0, "mask_sample": True}, {"reward": 0.5}]
    assert run(gym(gateway_url).aggregate_metrics(Model(verify_responses=rows))) == [1.0, 0.5]
    assert run(gym(gateway_url).get_reverify_mode()) == "stateless"
    assert run(gym(gateway_url, group_size=8).get_reverify_mode()) == "unknown"
