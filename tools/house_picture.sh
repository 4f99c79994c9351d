#!/usr/bin/env bash
# Draws docs/architecture.svg from the real targets and dependencies of the CMake build. Needs Graphviz (dot, tred).
# usage: tools/house_picture.sh [OUTPUT]   (.svg or .png)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs/architecture.svg}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --preset release -B "$scratch/build" --graphviz="$scratch/targets.dot" > /dev/null

# CMake writes each dependency as: "node1" -> "node2" // weft_models -> weft_arch. Kept are our libraries, programs, and what they use.
edges() {
  sed -nE 's|.*// ([A-Za-z_0-9:]+) -> ([A-Za-z_0-9:]+)$|\1 \2|p' "$scratch/targets.dot" | sed -E 's/weft_([a-z]+)/\1/g' |
    awk 'function shown(n) { return n ~ /^(graph|ops|backends|scheduler|arch|models|generate|chat|weft)$/ }
         $1 == "weft" || $1 == "chat" || $1 == "generate" { if ($2 == "cli") $2 = "models" }
         shown($1) && shown($2) && $1 != $2 { printf "\"%s\" -> \"%s\";\n", $1, $2 }' | sort -u
}

box() { # box NAME TITLE LINE COLOUR
  printf '"%s" [fillcolor="%s", label=<<b>%s</b><br/><font point-size="11" color="#444444">%s</font>>];\n' "$1" "$4" "$2" "$3"
}

{
  echo 'digraph house {'
  echo 'graph [rankdir=TB, nodesep=0.35, ranksep=0.42, fontname="Helvetica", bgcolor=white, pad=0.2];'
  echo 'node [shape=box, style="filled,rounded", color="#8a8a8a", fontname="Helvetica", fontsize=14, margin="0.22,0.10"];'
  echo 'edge [color="#6b6b6b", arrowsize=0.8];'
  box generate "generate" "continues a text" "#fdf3d8"
  box chat "chat" "talks" "#fdf3d8"
  box weft "weft" "looks into models and graphs" "#fdf3d8"
  box models "models/" "files, tokenizers, samplers, sessions" "#dcebf7"
  box arch "models/arch/src/" "builder code: a page per architecture" "#dcebf7"
  box scheduler "scheduler/" "passes, plan, replay on two lanes, verify" "#e3f1de"
  box backends "backends/" "reference loops and SIMD kernels" "#f6e2dd"
  box ops "ops/" "an op: formula, shapes, scalar truth; formats" "#ebe4f4"
  box graph "graph/" "shapes, nodes, checks, pictures" "#e6e6e6"
  echo '{ rank=same; generate; chat; weft; }'
  edges
  echo '}'
} > "$scratch/house.dot"

tred "$scratch/house.dot" | dot -T"${out##*.}" ${DPI:+-Gdpi="$DPI"} -o "$scratch/picture"
mv "$scratch/picture" "$out"
