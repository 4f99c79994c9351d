#!/usr/bin/env bash
# usage: tools/release.sh [--quick] [OUT]
#
# Makes a release candidate in the folder OUT (default: build/release_candidate) from the commit that
# is checked out: runs the checks, takes the notes of the version from the changelog, packs the
# sources, and writes SHA256SUMS. It uploads and tags nothing, and ends with the commands for that.
#
#   --quick   runs `tools/test.sh --quick` in place of all checks
#
# Refuses a tree with changes, a changelog without a date for the version of CMakeLists.txt, entries
# that are still under "Unreleased", and a stored C interface that is not that of weft.h.
set -euo pipefail
cd "$(dirname "$0")/.."

checks=--all
case "${1-}" in
  --quick) checks=--quick; shift ;;
  --help | -h | -*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [[ $1 == --help || $1 == -h ]] && exit 0
    exit 2 ;;
esac
out=${1:-build/release_candidate}
(($# <= 1)) || { echo "release: more than one folder: $*" >&2; exit 2; }

fail() {
  echo "release: $*" >&2
  exit 1
}

[[ -z $(git status --porcelain) ]] || fail "the working tree has changes: commit them first"
version=$(sed -n 's/^project(weft VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[[ -n $version ]] || fail "CMakeLists.txt: no project(weft VERSION ...)"
tools/release_notes.py "$version" > /dev/null
grep -q " v$version " bindings/c/interface/released.txt ||
  fail "the C interface of v$version is not stored: bindings/c/tests/interface_test.py --release v$version cc"
tools/test.sh "$checks"

# Only what an earlier run made is removed.
rm -f "$out"/weft-*.tar.gz "$out/NOTES.md" "$out/SHA256SUMS"
mkdir -p "$out"
[[ -z $(ls -A "$out") ]] || fail "$out has other files"
tools/release_notes.py "$version" > "$out/NOTES.md"
git archive --format=tar --prefix="weft-$version/" HEAD | gzip -9n > "$out/weft-$version.tar.gz"
(cd "$out" && sha256sum "weft-$version.tar.gz" NOTES.md > SHA256SUMS)
echo "$out:"
cat "$out/SHA256SUMS"
echo
echo "To release it:"
echo "  git tag -a v$version -m 'Weft $version' $(git rev-parse --short=12 HEAD)"
echo "  git push origin v$version   # with $out/NOTES.md as the text, and the files beside it"
