"""Open-Instruct's CodeVerifier, of a clone: it is not published as a package."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from published import absent, cloned, empty
from served import HERE, Served

ADDS = "I add them.\n\n```python\ndef add(a, b):\n    return a + b\n```"
READS = "```python\nprint(sum(map(int, input().split())))\n```"


@pytest.fixture(scope="module")
def code_gateway() -> Iterator[Served]:
    served = Served(HERE / "code-configs")
    yield served
    served.stop()


@pytest.fixture(scope="module")
def verifiers() -> Any:
    return opened()


def opened() -> Any:
    cloned("open-instruct")
    # What verifiers of other rewards need.
    absent("sympy", "tiktoken", "transformers")
    empty("open_instruct.utils", "open_instruct.if_functions", "open_instruct.IFEvalG.instructions_registry")
    from open_instruct import ground_truth_utils

    return ground_truth_utils


def score(verifiers: Any, url: str, prediction: str, label: Any, **more: Any) -> float:
    """The score of the verifier `code` under the settings of its training script, or others."""
    settings = {
        "code_api_url": url,
        "code_max_execution_time": 2.0,
        "code_pass_rate_reward_threshold": 0.0,
        "code_apply_perf_penalty": False,
        **more,
    }
    verifier = verifiers.CodeVerifier(verifiers.CodeVerifierConfig(**settings))
    return float(verifier([], prediction, label).score)


def test_asserts_are_scored_by_the_share_that_passes(code_gateway: Served, verifiers: Any) -> None:
    url = f"{code_gateway.url}/wire/open-instruct/code/test_program"
    tests = ["assert add(1, 2) == 3", "assert add(2, 2) == 5"]
    assert score(verifiers, url, ADDS, tests) == 0.5
    assert score(verifiers, url, ADDS, json.dumps(tests[:1])) == 1
    assert score(verifiers, url, ADDS, tests, code_pass_rate_reward_threshold=0.6) == 0
    assert score(verifiers, url, "```python\nimport os\nos._exit(0)\n```", tests) == 0
    assert score(verifiers, url, ADDS, tests[:1], code_apply_perf_penalty=True) == 1


def test_inputs_and_outputs_are_scored_at_the_address_that_the_client_makes(
    code_gateway: Served, verifiers: Any
) -> None:
    url = f"{code_gateway.url}/wire/open-instruct/code/test_program"
    stdio = url.replace("/test_program", "/test_program_stdio")
    tests = [{"input": "1 2\n", "output": "3\n"}, {"input": "2 2\n", "output": "5\n"}]
    assert score(verifiers, stdio, READS, tests) == 0.5
    assert score(verifiers, stdio, READS, json.dumps(tests[:1])) == 1
    assert score(verifiers, stdio, "I do not know.", tests) == 0


def test_a_number_below_0_arrives_as_0(code_gateway: Served, verifiers: Any) -> None:
    """The client's own code cuts it, as docs/trainers/open-instruct.md and `check --trainer` say."""
    url = f"{code_gateway.url}/wire/open-instruct/minus"
    asked = {"program": "pass", "tests": [], "max_execution_time": 2.0}
    assert requests.post(url, json=asked).json()["results"] == [-0.5]
    assert score(verifiers, url, ADDS, []) == 0


def test_what_cannot_be_scored_is_a_zero_to_this_client_alone(code_gateway: Served, verifiers: Any) -> None:
    url = f"{code_gateway.url}/wire/open-instruct/code/test_program"
    refused = code_gateway.metric("samples_total", reward="code", valid="false")
    assert score(verifiers, url, ADDS, []) == 0
    assert code_gateway.metric("samples_total", reward="code", valid="false") == refused + 1
