#!/usr/bin/env bash
# schemathesis (PyPI) reads /openapi.json of a gateway with simulated judges and sends what it allows and what it forbids:
# no status that is not declared, no body of another form, no way past a key. EXAMPLES and SEED set how much.
#
# Left out: unsupported_method (Fastify answers QUERY without a content type with 400, not 405) and positive_data_acceptance
# (names of models and rewards are refused, but stand in no schema).
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${SCHEMATHESIS_VENV:-.venv-schemathesis}
[ -x "$venv/bin/schemathesis" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install -q 'schemathesis==4.*'; }
folder=$(mktemp -d)
port=${PORT:-18600}
cp rm-configs/*.yaml "$folder"
printf 'keys:\n  all: { env: FUZZ_KEY, scopes: [admin, score, read] }\n' >>"$folder/gateway.yaml"
export FUZZ_KEY="fuzz-$RANDOM$RANDOM$RANDOM$RANDOM"
node dist/src/cli/main.js serve --simulate --config "$folder" --port "$port" --log-level fatal >"$folder/log" &
gateway=$!
trap 'kill $gateway 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  curl -sf "http://127.0.0.1:$port/readyz" >/dev/null && break
  sleep 0.2
done
schemathesis=$(realpath "$venv/bin/schemathesis")
cd "$folder" # its notes stay out of the project
"$schemathesis" run "http://127.0.0.1:$port/openapi.json" -H "Authorization: Bearer $FUZZ_KEY" \
  --exclude-checks unsupported_method,positive_data_acceptance --request-timeout 30 \
  --max-examples "${EXAMPLES:-100}" --seed "${SEED:-1}"
kill -0 $gateway # it still runs
