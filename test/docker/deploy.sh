#!/usr/bin/env bash
# npm run test:deploy: the manifests built by kustomize and by Helm and validated against Kubernetes' schemas, compose.yaml loaded as
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
[ -x "$tools/bin/helm" ] || go install helm.sh/helm/v3/cmd/helm@v3.22.0
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
validate() {
  for version in 1.29.0 1.37.0; do
    "$tools/bin/kubernetes-validate" --strict --quiet -k "$version" "$@"
  done
}
validate "$work/built.yaml" "$work/overlaid.yaml" "$work/sandbox.yaml"
echo "$(grep -c '^kind:' "$work/built.yaml") resources"

echo '== Helm'
chart=docker/helm
grep -q "^appVersion: $(node -p "require('./package.json').version")$" "$chart/Chart.yaml" || { echo "$chart has another version" >&2; exit 1; }
"$tools/bin/helm" lint --strict "$chart" 2>/dev/null
# Without its news that the chart holds a link.
template() { "$tools/bin/helm" template --kube-version 1.29 "$@" 2> >(grep -v 'symbolic link' >&2); }
template reward-gateway "$chart" >"$work/helm.yaml"
"$tools/bin/python" test/docker/same-resources.py "$work/helm.yaml" "$work/built.yaml"
# All that can be set, and all that can be left out.
template other "$chart" --set image.tag=,image.pullPolicy=Always,replicas=3,autoscaling.enabled=false,service.type=NodePort \
  --set serviceMonitor.labels.team=rl,podLabels.team=rl,podAnnotations.a=b,nodeSelector.disk=ssd \
  --set 'args={--log-level,warn}' \
  --set 'env[0].name=JUDGE_MODEL,env[0].value=some/model,imagePullSecrets[0].name=registry,tolerations[0].operator=Exists' \
  --set-file 'config.gateway\.yaml='"$work/overlay/gateway.yaml" >"$work/set.yaml"
template bare "$chart" --set autoscaling.enabled=false,serviceMonitor.enabled=false,networkPolicy.enabled=false >"$work/bare.yaml"
validate "$work/helm.yaml" "$work/set.yaml" "$work/bare.yaml"
if template wrong "$chart" --set replica=3 >/dev/null; then echo 'a wrong value is not seen' >&2; exit 1; fi

echo '== systemd and Slurm'
bash -n docker/slurm/reward-gateway.sbatch docker/slurm/rolling-restart.sh
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
