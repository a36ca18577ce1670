#!/usr/bin/env bash
# The client's tests on each version of Python, each in .venv-VERSION, and pyright's strict mode on code of users.
# A version that is neither on PATH nor known to uv is named and left out; one of the arguments must be there.
# Usage: bash tests/versions.sh [VERSION...]
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
named=$#
[ "$named" -gt 0 ] || set -- 3.10 3.11 3.12 3.13 3.14
for one in "$@"; do
  python=$(command -v "python$one" || true)
  "$python" -c '' 2>/dev/null || python=$(uv python find --no-python-downloads "$one" 2>/dev/null || true)
  if ! "$python" -c '' 2>/dev/null; then
    echo "$one: not run, there is no such interpreter here"
    [ "$named" -eq 0 ] || failed=1
    continue
  fi
  [ -d ".venv-$one" ] || { "$python" -m venv ".venv-$one" && ".venv-$one/bin/pip" install -q -e '.[dev]'; }
  if said=$(".venv-$one/bin/pytest" -p no:cacheprovider 2>&1); then
    echo "$(".venv-$one/bin/python" -V): $(tail -n 1 <<<"$said")"
  else
    echo "$said"
    failed=1
  fi
done
echo '{"include": ["tests/typed_use.py"], "typeCheckingMode": "strict", "pythonVersion": "3.10"}' >pyrightconfig.json
npx --yes pyright@1.1 --pythonpath "$(echo .venv*/bin/python | cut -d' ' -f1)" || failed=1
rm pyrightconfig.json
exit $failed
