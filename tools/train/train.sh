#!/bin/sh
# Composes the corpus, trains the tokenizer and the model, writes and checks the model file.
# Run it from anywhere; a run that was interrupted continues from its last checkpoint.
#   WEFT_TRAIN_DIR   folder for checkpoints and the log (default: build/train)
#   WEFT_MODEL_DIR   folder for the model file (default: examples/models)
# Further arguments go to train.py, e.g. `--stop-at 200` for a quick try.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${WEFT_TRAIN_DIR:-$root/build/train}
out=${WEFT_MODEL_DIR:-$root/examples/models}
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1

if ! $python -c 'import torch, numpy' 2>/dev/null; then
    apt-get install -y --no-install-recommends python3-torch python3-numpy libopenblas0-pthread
fi

# Big tensors come and go in every step: let malloc keep their memory.
MALLOC_MMAP_THRESHOLD_=4000000000
MALLOC_TRIM_THRESHOLD_=8000000000
MALLOC_TOP_PAD_=500000000
# Where the cores are shared, a thread that waits must sleep, not spin.
export OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0
export MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ MALLOC_TOP_PAD_
$python "$here/train.py" --dir "$work" "$@"
unset MALLOC_MMAP_THRESHOLD_ MALLOC_TRIM_THRESHOLD_ MALLOC_TOP_PAD_

mkdir -p "$out"
$python "$here/export.py" --dir "$work" --out "$out/weft-stories.gguf"
$python "$here/check.py" "$out/weft-stories.gguf" --expected "$out/weft-stories.expected.json"
$python "$here/check.py" "$out/weft-stories.gguf"
