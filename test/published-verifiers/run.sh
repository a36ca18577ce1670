#!/usr/bin/env bash
# Published verifiers behind the gateway, as the recipes say: reasoning-gym and verifiers as Python functions, a resources server
# of NeMo Gym and a FastAPI service by `service`. The first run installs 2 GB into .venv-verifiers.
set -euo pipefail
cd "$(dirname "$0")/../.."
venvs=$PWD/.venv-verifiers
wanted=$(sha256sum <"$PWD/test/published-verifiers/run.sh")
if [ "$(cat "$venvs/installed" 2>/dev/null)" != "$wanted" ]; then
  for name in reasoning-gym verifiers nemo-gym; do python3 -m venv --clear "$venvs/$name"; done
  "$venvs/reasoning-gym/bin/pip" install -q reasoning-gym==0.1.25
  "$venvs/verifiers/bin/pip" install -q verifiers==0.4.0
  # What the server of reasoning-gym imports. Gym's metadata asks for Python 3.13; this server runs on 3.11.
  "$venvs/nemo-gym/bin/pip" install -q aiohttp anyio datasets devtools fastapi gitpython httptools hydra-core itsdangerous \
    'mcp>=1.28.1,<2' mlflow mlflow-skinny omegaconf openai==2.44.0 orjson psutil pydantic pydot pyjwt python-multipart \
    ray==2.60.0 reasoning-gym==0.1.25 rich scipy sqlparse tenacity tqdm uvicorn uvloop wandb yappi
  "$venvs/nemo-gym/bin/pip" install -q --no-deps --ignore-requires-python nemo-gym==0.7.0
  echo "$wanted" >"$venvs/installed"
fi
VENVS=$venvs exec node dist/test/published-verifiers/verifiers.js
