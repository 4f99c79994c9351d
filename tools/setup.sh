#!/usr/bin/env bash
# usage: tools/setup.sh [--no-hooks]
#
# Prepares a clone for work on Weft: installs the packages of builds and tests, and git's hook that
# checks the subjects of commits (tools/hooks).
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1-}" in
  "" | --no-hooks) ;;
  *)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [[ $1 == --help || $1 == -h ]] && exit 0
    exit 2
    ;;
esac

tools/packages/install.sh build test mpi
if [[ ${1-} != --no-hooks ]] && git rev-parse --git-dir > /dev/null 2>&1; then
  hooks=$(git config core.hooksPath || git rev-parse --git-path hooks)
  if [[ $hooks != tools/hooks ]] && [[ -n $(find "$hooks" -type f ! -name '*.sample' 2> /dev/null) ]]; then
    echo "Kept your hooks in $hooks; to use Weft's: git config core.hooksPath tools/hooks"
  else
    git config core.hooksPath tools/hooks
    echo "Installed the hook that checks the subjects of commits (tools/hooks/commit-msg)."
  fi
fi
echo "Next: cmake --preset quick && cmake --build --preset quick, then tools/test.sh --changed"
