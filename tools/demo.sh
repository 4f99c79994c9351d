#!/usr/bin/env bash
# usage: tools/demo.sh [ARGUMENT OF generate...]
#
# Installs the missing packages on a fresh Debian 12 machine, builds `generate` for this machine, and
# lets the bundled model write a story. Then builds `chat` and `weft`.
# With arguments: tools/demo.sh -p "One day" -n 100
#
# WEFT_PREBUILT=weft-VERSION-linux-ARCHITECTURE.tar.zst takes `generate` from an archive that
# tools/package.sh made, and builds nothing. SHA256SUMS must be beside it.
set -euo pipefail
prebuilt=${WEFT_PREBUILT:+$(realpath -m -- "$WEFT_PREBUILT")}
cd "$(dirname "$0")/.."

case "${1-}" in
  -h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# build TARGET...: shows how far ninja is: on a terminal in one line, elsewhere in a few lines.
build() {
  local line start=$SECONDS said=$SECONDS left
  : > "$log"
  cmake --build --preset release --target "$@" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line" >> "$log"
    [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\] ]] || continue
    local n=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    left=$(((SECONDS - start) * (all - n) / n))
    if [[ -t 1 ]]; then
      printf '\r  %d of %d, about %d:%02d left \033[K' "$n" "$all" $((left / 60)) $((left % 60))
    elif ((SECONDS - said >= 30)); then
      said=$SECONDS
      printf '  %d of %d, about %d:%02d left\n' "$n" "$all" $((left / 60)) $((left % 60))
    fi
  done || {
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" | tail -n 60 >&2
    fail "The build failed. If build/release comes from another folder, version or compiler, remove it and try again."
  }
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

# tell PROGRAM [ARGUMENT...]: runs `generate`, without arguments for a story.
tell() {
  local program=$1
  shift
  (($#)) || set -- -p "Once upon a time" -n 200 --seed 7 --temp 0.4
  printf '\n$ %s%s\n\n' "$program" "$(printf ' %q' "$@")"
  "$program" "$@"
}

# unpack ARCHIVE FOLDER: if it is what SHA256SUMS says.
unpack() {
  local name sums wanted got
  name=$(basename "$1") sums=$(dirname "$1")/SHA256SUMS
  [[ -f $1 ]] || fail "WEFT_PREBUILT: there is no file $1"
  [[ $name == weft-*-linux-"$(uname -m)".tar.zst ]] \
    || fail "WEFT_PREBUILT: expected weft-VERSION-linux-$(uname -m).tar.zst, got $name"
  [[ -f $sums ]] || fail "WEFT_PREBUILT: SHA256SUMS is not beside $1"
  wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$sums" | sort -u)
  [[ $wanted =~ ^[0-9a-f]{64}$ ]] || fail "WEFT_PREBUILT: expected one sha256 of $name in $sums, got '${wanted//$'\n'/ }'"
  got=$(sha256sum < "$1" | cut -d ' ' -f 1)
  [[ $got == "$wanted" ]] || fail "WEFT_PREBUILT: $1 has the sha256 $got, SHA256SUMS says $wanted"
  command -v zstd > /dev/null || fail "WEFT_PREBUILT: zstd is missing, which unpacks the archive: apt-get install zstd"
  rm -rf "$2"
  mkdir -p "$2"
  if ! tar -x --zstd --no-same-owner --strip-components=1 -f "$1" -C "$2" 2> "$log"; then
    rm -rf "$2"
    fail "WEFT_PREBUILT: cannot unpack $1: $(head -n 1 "$log")"
  fi
}

if [[ $prebuilt ]]; then
  unpack "$prebuilt" build/prebuilt
  tell build/prebuilt/bin/generate "$@"
  printf '\nNext: build/prebuilt/bin/chat, build/prebuilt/bin/weft --help, README.md\n'
  exit 0
fi

optional=()
if ((EUID == 0)) || command -v sudo > /dev/null; then optional=(cache); fi
tools/packages/install.sh build "${optional[@]}"

mkdir -p build
free=$(df -Pk build | awk 'NR == 2 { print int($4 / 1024) }')
if [[ ! -x build/release/bin/generate ]] && ((free < 1000)); then
  fail "The build needs 1000 MB of disk, $free MB are free."
fi

# A build folder that is there keeps its settings, such as kernels for all processors.
if [[ ! -f build/release/build.ninja ]]; then
  cmake --preset release -DWEFT_ISAS=native > "$log" 2>&1 || {
    grep -vE '^(--|$)' "$log" | tail -n 30 >&2
    fail "CMake failed. If build/release comes from another folder, version or compiler, remove it and try again."
  }
fi

echo "Building generate (text generation) for the processor of this machine."
build generate

tell build/release/bin/generate "$@"

printf '\nBuilding chat (conversations) and weft (inspects, checks, measures and serves models).\n'
build chat weft
printf 'Next: build/release/bin/chat, build/release/bin/weft --help, README.md\n'
