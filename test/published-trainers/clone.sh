#!/usr/bin/env bash
# Clones the trainers that are no packages, at the commits that docs/trainer-failures.md names, for TRAINER_CLONES, and SkyRL
# for its asynchronous trainer.
# Usage: bash test/published-trainers/clone.sh FOLDER
set -euo pipefail
while read -r repository commit; do
  into=$1/${repository#*/}
  git init -q "$into"
  git -C "$into" fetch -q --depth 1 "https://github.com/$repository" "$commit"
  git -C "$into" checkout -q FETCH_HEAD
done <<'COMMITS'
THUDM/slime 624b824a898ab0ec1fcb4d373004c7f3852bf515
radixark/miles 31f1ca961a94cb860cec3b2dea34ec332bfa8f76
hiyouga/EasyR1 b44b311b669bf1fd1aa2fc36f2251482ba33cb16
rllm-org/rllm 9beb6e0f676a46d38858991fd79ac5f8e0b16d4c
allenai/open-instruct e6c3044aa6201c8bfa4573c1b03142af599e730d
NovaSky-AI/SkyRL a9564572eb8e91076be43c1bd5e4615e3de17265
COMMITS
