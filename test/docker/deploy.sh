#!/usr/bin/env bash
# npm run test:deploy: the manifests built by kustomize and validated against Kubernetes' schemas, compose.yaml loaded as
# `docker compose config` loads it, and the Dockerfile's steps by hand. Needs Go, Python 3.11 and npm's registry; tools are
# kept in .venv-deploy.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/.venv-deploy
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOBIN=$tools/bin
[ -x "$tools/bin/kubernetes-validate" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install -q kubernetes-validate==1.37.0; }
[ -x "$tools/bin/kustomize" ] || go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1
# compose-go is what Docker's plug-in loads files with, its JSON Schema and its checks of what belongs together included.
[ -x "$tools/bin/compose" ] || { go install github.com/compose-spec/compose-go/v2/cmd@v2.16.2 && mv "$tools/bin/cmd" "$tools/bin/compose"; }

echo '== kubernetes'
"$tools/bin/kustomize" build docker/kubernetes >"$work/built.yaml"
"$tools/bin/kustomize" build docker/sandbox >"$work/sandbox.yaml"
# As the base of an overlay: another image, another namespace, a config of one's own.
mkdir "$work/overlay"
cp -r docker/kubernetes "$work/base"
cat >"$work/overlay/kustomization.yaml" <<'YAML'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: rewards
resources: [../base]
images: [{ name: reward-gateway, newName: registry.example/reward-gateway, newTag: "1" }]
configMapGenerator:
  - { name: reward-gateway, behavior: merge, files: [gateway.yaml] }
YAML
echo 'models: {}' >"$work/overlay/gateway.yaml"
"$tools/bin/kustomize" build "$work/overlay" >"$work/overlaid.yaml"
grep -q 'image: registry.example/reward-gateway:1' "$work/overlaid.yaml"
grep -q 'models: {}' "$work/overlaid.yaml"
for version in 1.29.0 1.37.0; do
  "$tools/bin/kubernetes-validate" --strict --quiet -k "$version" "$work/built.yaml" "$work/overlaid.yaml" "$work/sandbox.yaml"
done
echo "$(grep -c '^kind:' "$work/built.yaml") resources"

echo '== systemd and Slurm'
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify docker/sandbox/reward-gateway-sandbox.service
else
  echo 'skipped: no systemd-analyze'
fi
grep -o 'srun [^`]*' docs/sandboxes.md | bash -n
"$tools/bin/compose" docker/compose.yaml >"$work/compose.yaml"
# This loader reads no environment: the variables are put in as Docker does.
cp docker/compose.yaml "$work/changed.yaml"
for setting in JUDGE_A_MODEL=some/model JUDGE_A_TENSOR_PARALLEL=4 JUDGE_B_GPU_MEMORY=0.55 GATEWAY_PORT=9999 VLLM_START_PERIOD=45m; do
  sed -i "s|\${${setting%%=*}:-[^}]*}|${setting#*=}|g" "$work/changed.yaml"
done
"$tools/bin/compose" "$work/changed.yaml" >"$work/loaded.yaml"
for text in 'some/model' 'tensor-parallel-size=4' 'gpu-memory-utilization=0.55' 'published: "9999"' 'start_period: 45m'; do
  grep -q -- "$text" "$work/loaded.yaml" || { echo "no variable sets $text" >&2; exit 1; }
done
sed 's/image:/imgae:/' docker/compose.yaml >"$work/wrong.yaml"
if "$tools/bin/compose" "$work/wrong.yaml" >/dev/null 2>&1; then echo 'a wrong key is not seen' >&2; exit 1; fi
echo "$(grep -c '^        image:' "$work/compose.yaml") services"

echo '== Dockerfile'
node test/docker/by-hand.mjs "$work/image"
