#!/usr/bin/env bash
# The published trainers' reward code, and a real training run, against the gateway that was built. Arguments go to pytest.
# The first run installs 8 GB into .venv-trainers, which is kept until the lists of packages change.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=.venv-trainers
lists=(test/published-trainers/requirements.txt test/published-trainers/published.txt)
wanted=$(cat "${lists[@]}" | sha256sum)
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$wanted" ]; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install -q -r "${lists[0]}"
  "$venv/bin/pip" install -q --no-deps -r "${lists[1]}"
  "$venv/bin/pip" install -q --no-deps -e clients/python
  echo "$wanted" >"$venv/installed"
fi
# LiteLLM fetches a list of prices when it is imported, and cannot be imported where that fails.
export LITELLM_LOCAL_MODEL_COST_MAP=True
if [ "${1:-}" = --table ]; then
  exec "$venv/bin/python" test/published-trainers/table.py "${@:2}"
fi
exec "$venv/bin/pytest" test/published-trainers "$@"
