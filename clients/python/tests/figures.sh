#!/usr/bin/env bash
# The figures in W&B and TensorBoard, with their own packages: the client's in a run that is open, and those of
# `reward-gateway export`. Needs the built gateway. The first run installs both into .venv-figures.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d .venv-figures ] || { python3 -m venv .venv-figures && .venv-figures/bin/pip install -q -e '.[dev]' wandb tensorboard; }
# Without them, the tests would be left out.
.venv-figures/bin/python -c 'import tensorboard, wandb'
.venv-figures/bin/pytest -p no:cacheprovider tests/test_wandb.py
EXPORT_PYTHON="$PWD/.venv-figures/bin/python" npm --prefix ../.. test -- dist/test/workbench/export/export.test.js
