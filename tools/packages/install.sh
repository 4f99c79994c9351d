#!/usr/bin/env bash
# usage: install.sh LIST...
#
# Installs the missing packages of tools/packages/LIST.txt, NAME:ARCHITECTURE from the packages for
# another processor. Prints nothing if none is missing.
set -euo pipefail
cd "$(dirname "$0")"

mapfile -t packages < <(sed 's/#.*//' "${@/%/.txt}" | awk 'NF { print $1 }' | sort -u)

if ! command -v apt-get > /dev/null; then
  echo "warning: not Debian or Ubuntu; assuming that these packages are installed: ${packages[*]}" >&2
  exit 0
fi

native=$(dpkg --print-architecture)
missing=()
for package in "${packages[@]}"; do
  architecture=$native
  [[ $package == *:* ]] && architecture=${package#*:}
  # A line for each architecture that the package is installed for.
  dpkg-query --show --showformat='${db:Status-Status} ${Architecture}\n' "$package" 2> /dev/null \
    | grep -qxE "installed ($architecture|all)" || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "Installing packages: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null; then
    echo "Not root, and sudo is not installed. As root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" >> "$log" 2>&1; }
mapfile -t foreign < <(printf '%s\n' "${missing[@]}" | sed -n 's/.*://p' | sort -u)
for architecture in "${foreign[@]}"; do
  "${as_root[@]}" dpkg --add-architecture "$architecture"
done
# Update first: the package lists of a fresh machine may be missing or stale.
if ! { apt update && apt install --no-install-recommends "${missing[@]}"; }; then
  cat "$log" >&2
  echo "Could not install: ${missing[*]}" >&2
  exit 1
fi
