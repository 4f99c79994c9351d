#!/usr/bin/env bash
# usage: check_isa_symbols.sh NM ARCHIVE
# Fails where an object compiled for AVX or later holds a weak symbol without the instruction set in its name: the linker may pick that copy for callers
# that run on machines without it.
set -euo pipefail
"$1" -C "$2" | awk '
  /\.cpp\.o:$/ {
    isa = ""
    if (match($0, /\.(sse2|avx2|avx512|avx512vnni)\.cpp\.o:$/)) {
      isa = $0; sub(/\.cpp\.o:$/, "", isa); sub(/.*\./, "", isa); seen[isa]++
    }
    object = $0
    next
  }
  isa == "" || isa == "sse2" { next }
  $2 ~ /^[WVu]$/ {
    if (isa == "avx2" && $0 ~ /weft::cpu::Avx2|xsimd::avx2?[^0-9]|xsimd::fma3/) next
    if (isa == "avx512" && $0 ~ /weft::cpu::Avx512[^V]|xsimd::avx512/) next
    if (isa == "avx512vnni" && $0 ~ /weft::cpu::Avx512Vnni/) next
    print object " " $0; bad = 1
  }
  END {
    if (!seen["avx2"] || !seen["avx512"] || !seen["avx512vnni"]) { print "no kernel objects found"; bad = 1 }
    exit bad
  }'
