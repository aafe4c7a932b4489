#!/usr/bin/env bash
# Likelihoods, replies and evolution on one GPU, against plain transformers and lm-evaluation-harness.
#
#   tests/performance/on_gpu.sh --collect   here: collects what a bare machine lacks into .cache/on_gpu (6 MB)
#   tests/performance/on_gpu.sh             there: everything, in under 8 minutes of one H200
#   tests/performance/on_gpu.sh --tiny      a dry run of the same on a CPU: tiny models, no figures worth keeping
#
# There, python3 needs torch, transformers, numpy, pandas and scipy, a GPU, and the folder .cache/on_gpu. It prints
# Markdown, and writes on_gpu.md and on_gpu.json to $OUT where that is set.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=true
[ "${1:-}" = --collect ] && exec python3 -m tests.performance.on_gpu_collect
exec python3 -m tests.performance.on_gpu "$@"
