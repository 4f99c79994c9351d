#!/usr/bin/env bash
# usage: check_isa_symbols.sh NM ARCHIVE SET=TAG...
#
# Fails if an object compiled for one of these instruction sets has a weak symbol without the set's
# tag in its name: the linker may choose that copy for callers on machines without the set. Also
# fails if a set has no object.
set -euo pipefail
"$1" -C "$2" | awk -v sets="${*:3}" '
  BEGIN {
    n = split(sets, pairs, " ")
    for (i = 1; i <= n; ++i) {
      split(pairs[i], pair, "=")
      tag[pair[1]] = "weft::cpu::" pair[2] "[^A-Za-z0-9_]"
    }
  }
  /\.cpp\.o:$/ {
    isa = object = $0
    sub(/\.cpp\.o:$/, "", isa)
    sub(/.*\./, "", isa)
    if (isa in tag) seen[isa]++
    next
  }
  isa in tag && $2 ~ /^[WVu]$/ && $0 !~ tag[isa] { print object " " $0; bad = 1 }
  END {
    for (isa in tag) {
      if (!seen[isa]) { print "no kernel objects of " isa; bad = 1 }
    }
    exit bad
  }'
