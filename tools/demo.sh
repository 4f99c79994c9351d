#!/usr/bin/env bash
# usage: tools/demo.sh [ARGUMENT OF generate...]
#
# Installs the missing packages on a fresh Debian 12 machine, builds the programs, and lets the
# bundled model write a story. With arguments: tools/demo.sh -p "One day" -n 100
set -euo pipefail
cd "$(dirname "$0")/.."

tools/packages/install.sh build

quiet=()
if [[ -t 1 ]]; then
  [[ -x build/release/bin/generate ]] || echo "Building. The first build takes some minutes."
else
  quiet=(-- --quiet)  # nobody watches ninja's progress
  echo "Building Weft in build/release."
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset release > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset release --target generate chat weft "${quiet[@]}"

if (($# == 0)); then
  set -- -p "Once upon a time" -n 200 --seed 7 --temp 0.4
fi
printf '\n$ build/release/bin/generate%s\n\n' "$(printf ' %q' "$@")"
build/release/bin/generate "$@"
printf '\nNext: build/release/bin/chat, build/release/bin/weft --help, README.md\n'
