#!/usr/bin/env bash
# usage: tools/package.sh [--architecture x86_64|aarch64] [--out FOLDER] [--build FOLDER] WHAT...
#
# Makes packages in FOLDER (default: build/packages). They run on every Linux with glibc 2.31 or newer,
# on every processor of their architecture, and are the same bytes wherever they are made.
#
#   archive   weft-VERSION-linux-ARCHITECTURE.tar.zst, to unpack and run
#   deb       weft, libweft1, libweft-dev, python3-weft and weft-doc, for Debian 11 and newer
#   wheel     weft-VERSION-py3-none-manylinux_2_31_ARCHITECTURE.whl, for CPython 3.9 and newer
#   image     weft-VERSION-image-ARCHITECTURE.tar, for docker load and podman load
#   source    weft-VERSION.tar.gz
#   recipes   the same, and texts for Homebrew, Nix, conda-forge, vcpkg, Arch and Guix that name it:
#             WEFT_SOURCE_URL and WEFT_HOMEPAGE say where it will be
#   all       all of these, and SHA256SUMS
#
#   tools/package.sh all
#   tools/package.sh --architecture aarch64 archive
#
# Nothing is published. WEFT_SIGNING_KEY names a key of gpg, which then signs SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

fail() {
  echo "package: $*" >&2
  exit 1
}

architecture=$(uname -m)
out=build/packages
build=
what=()
while (($#)); do
  case $1 in
    --architecture | --out | --build)
      (($# > 1)) || fail "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    archive | deb | wheel | image | source | recipes) what+=("$1") ;;
    all) what+=(archive deb wheel image recipes) ;;
    *) fail "expected archive, deb, wheel, image, source, recipes or all, got '$1' (--help)" ;;
  esac
  shift
done
((${#what[@]})) || fail "what shall be made? (--help)"
case $architecture in
  x86_64) preset=portable packages=() ;;
  aarch64) preset=portable-arm64 packages=(arm64) ;;
  *) fail "--architecture: expected x86_64 or aarch64, got '$architecture'" ;;
esac
build=${build:-build/$preset}

tools/packages/install.sh build package "${packages[@]}"
tools/package/portable/sysroot.sh "$architecture" "build/sysroot/$architecture"
mkdir -p "$out" "$build"
cmake --preset "$preset" -B "$build" > "$build/configure.log" 2>&1 || {
  tail -n 30 "$build/configure.log" >&2
  fail "CMake failed"
}
cmake --build "$build" --target weft_packaged > "$build/build.log" 2>&1 || {
  grep -vE '^\[[0-9]+/[0-9]+\] ' "$build/build.log" | tail -n 60 >&2
  fail "the build failed"
}
# The modules that make wheels.
export PYTHONPATH=$PWD/bindings/python/backend
exec python3 -B tools/package/make.py --build "$build" --sysroot "build/sysroot/$architecture" \
  --architecture "$architecture" --out "$out" "${what[@]}"
