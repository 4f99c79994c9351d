#!/bin/sh
# usage: tools/doc_pictures.sh [FOLDER_OF_BINARIES]
#
# Draws the pictures of docs/pictures.md from the bundled model.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
weft="${1:-$root/build/release/bin}/weft"
model="$root/examples/models/weft-stories.gguf"
out="$root/docs/pictures"
mkdir -p "$out"

# A fixed instruction set, so that all machines that have it draw the same pictures.
export WEFT_CPU_ISA="${WEFT_CPU_ISA:-avx2}"
"$weft" dot -m "$model" -t 2 -o "$out/graph.svg"
"$weft" dot -m "$model" -t 2 --layers 0 --diff no-pass=fuse_qkv default -o "$out/fuse_qkv.svg"
"$weft" plan -m "$model" -t 2 --svg "$out/plan.svg" --layers 0-1
"$weft" dot -m "$model" -t 2 --plan -o "$out/pieces.svg"
dot -Tsvg "$out/verified_step.dot" -o "$out/verified_step.svg"
