#!/usr/bin/env bash
# usage: tools/coverage.sh [--baseline | --page] [TEST_PROGRAM...]
#
# Prints which share of the lines of each layer the tests run, and names the gaps. Fails if a folder
# is below its floor, or a test fails. Builds the preset `coverage` and runs all of its tests, or
# those of the named programs (graph_test ...): all of them take more than an hour and a half on two
# cores, because nothing is optimized. Kernels are not counted by lines: the closing lines list the
# instruction sets whose rows all ran.
#
#   --baseline  build kernels for the first instruction set alone: two thirds of the objects, but
#               code for the others (weights in panels) does not run, and tests of them fail
#   --page      also writes the table of tests/README.md
set -euo pipefail
cd "$(dirname "$0")/.."

baseline='' page=''
case "${1-}" in
  --page)
    page=yes
    shift
    ;;
  --baseline)
    baseline=yes
    shift
    ;;
  -*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [[ $1 == --help || $1 == -h ]] && exit 0
    exit 2
    ;;
esac

tools/packages/install.sh build test coverage

targets=() selection=()
if (($#)); then
  targets=(--target "$@")
  names=$(IFS='|'; echo "$*")
  selection=(-R "^(${names/cpu_kernels_test/cpu kernels .*|cpu_kernels_test})(:|$)")
fi
sets=
if [[ $baseline ]]; then
  mkdir -p build/coverage
  sets=$PWD/build/coverage/first_set.cmake
  awk '/^weft_instruction_set\(/ { n++ } n < 2' cmake/instruction_sets.cmake > "$sets"
fi
cmake --preset coverage -D WEFT_INSTRUCTION_SETS="$sets" > /dev/null
cmake --build --preset coverage "${targets[@]}" -- --quiet
find build/coverage -name '*.gcda' -delete
failed=
ctest --preset coverage --output-junit tests.xml "${selection[@]}" > build/coverage/tests.log || failed=yes
grep -vE '(Passed|Skipped)  |^ *Start ' build/coverage/tests.log || true
gcovr -j 2 --root . --object-directory build/coverage --json build/coverage/lines.json \
  --exclude '.*_test\.cpp' --exclude 'backends/src/cpu/(kernels|simd)/.*\.inl\.h' \
  --exclude tests/ --exclude build/ build/coverage
# A run of some programs, or without the code for panels, has no floors.
if (($#)) || [[ $baseline ]]; then
  tools/coverage_report.py build/coverage/lines.json build/coverage/tests.xml || true
else
  tools/coverage_report.py build/coverage/lines.json build/coverage/tests.xml ${page:+--page tests/README.md}
fi
[[ -z $failed ]] || { echo "coverage: tests failed" >&2; exit 1; }
