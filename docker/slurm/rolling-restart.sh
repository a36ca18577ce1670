#!/usr/bin/env bash
# docker/slurm/rolling-restart.sh JOB STATE
# Restarts the replicas of a job of reward-gateway.sbatch one after the other, each once the one before is ready again.
# No sample is lost. STATE is the folder that the job was given.
set -euo pipefail
job=${1:?the number of the job} state=${2:?the state folder of the job}

step_of() { squeue --steps --jobs="$job" --noheader --format='%i %j' | awk -v name="$1" '$2 == name { print $1 }'; }

for index in 0 1; do
  old=$(step_of "gateway-$index")
  [ -n "$old" ] || { echo "job $job has no step gateway-$index" >&2; exit 1; }
  # INT, because Slurm kills a step soon after TERM. Slurm 22.05 delivers the signal and reports an error.
  scancel --signal=INT "$old" 2>/dev/null || true
  until new=$(step_of "gateway-$index") && [ -n "$new" ] && [ "$new" != "$old" ] &&
    curl -sf "http://$(cat "$state/replica-$index")/readyz" >/dev/null; do
    sleep 1
  done
  echo "gateway-$index is ready again"
  # HAProxy asks twice a second.
  sleep 2
done
