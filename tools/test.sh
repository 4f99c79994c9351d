#!/usr/bin/env bash
# Installs the packages for the tests (Debian 12), then builds and runs every check of tools/checks.
# `tools/test.sh --help` names the options.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ " $* " != *" --help "* && " $* " != *" -h "* && " $* " != *" --list "* ]]; then
  tools/packages/install.sh build test mpi
fi
command -v python3 > /dev/null || { echo "python3 is missing: run tools/packages/install.sh test" >&2; exit 1; }
exec python3 tools/checks/run.py "$@" --spent "$SECONDS"
