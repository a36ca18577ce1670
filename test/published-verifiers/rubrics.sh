#!/usr/bin/env bash
# Random cases of rubric judges, answered by verifiers' and rewardkit's own code and by ours. Their wheels need Python 3.12:
# PYTHON names one. Installs them into .venv-verifiers/rubrics the first time.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$PWD/.venv-verifiers/rubrics
if [ ! -e "$venv/installed" ]; then
  "${PYTHON:-python3.12}" -m venv --clear "$venv"
  "$venv/bin/pip" install -q harbor-rewardkit==0.2.3 verifiers==0.4.0
  touch "$venv/installed"
fi
mkdir -p "$venv/vectors/rubric"
"$venv/bin/python" test/published-verifiers/rubric_vectors.py "${CASES:-2000}" "${SEED:-1}" >"$venv/vectors/rubric/cases.jsonl"
exec node dist/test/vectors/main.js "$venv/vectors/rubric/cases.jsonl"
