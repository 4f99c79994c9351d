#!/usr/bin/env bash
# pkg_config.sh LIBDIR COMPILER MODEL: builds first_text.c with what pkg-config says, with the shared
# and with the static library, and runs it.
set -euo pipefail
libdir=$1 compiler=$2 model=$3
source=$(dirname "$0")/first_text.c
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
export PKG_CONFIG_PATH=$libdir/pkgconfig

read -ra shared < <(pkg-config --cflags --libs weft)
"$compiler" -std=c11 "$source" -o "$scratch/shared" "${shared[@]}" "-Wl,-rpath,$libdir"
defines=$(pkg-config --static --cflags weft | tr ' ' '\n' | grep '^-D' || true)
if [ -n "$defines" ]; then
  echo "weft.pc defines macros in programs that use it: $defines" >&2
  exit 1
fi
read -ra static < <(pkg-config --static --cflags --libs weft)
static=("${static[@]/#-lweft/-l:libweft.a}")
"$compiler" -std=c11 "$source" -o "$scratch/static" "${static[@]}"
if readelf -d "$scratch/static" | grep -q libweft; then
  echo "the static program needs libweft.so" >&2
  exit 1
fi
[[ "$("$scratch/shared" "$model")" == "$("$scratch/static" "$model")" ]]
