#!/usr/bin/env bash
# usage: tools/house_picture.sh [OUTPUT]
#
# Draws docs/pictures/architecture.svg (or OUTPUT, .svg or .png) from the targets and dependencies of the
# CMake build. Needs Graphviz (dot, tred).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs/pictures/architecture.svg}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --preset release -B "$scratch/build" --graphviz="$scratch/targets.dot" > /dev/null
sed -i 's/weft_chat\b/weft_chat_turn/g' "$scratch"/targets.dot  # the layer, not the program

# NAME|TITLE|LINE|COLOUR of each box; other targets are not drawn.
boxes=(
  "generate|generate|continues a text|#fdf3d8"
  "chat|chat|talks with a model|#fdf3d8"
  "weft|weft|inspects and checks models|#fdf3d8"
  "c_api|bindings/c|the C API, libweft.so|#fdf3d8"
  "native|server/api/native|llama-server's endpoints|#fbe9e0"
  "ollama|server/api/ollama|Ollama's endpoints|#fbe9e0"
  "anthropic|server/api/anthropic|Anthropic's endpoints|#fbe9e0"
  "responses|server/api/responses|OpenAI's responses|#fbe9e0"
  "openai|server/api/openai|OpenAI's endpoints|#fbe9e0"
  "page|server/page|the page at /|#fbe9e0"
  "hosting|server/hosting|loaded models, metrics|#fbe9e0"
  "api|server/api/core|fields, endpoints, errors|#fbe9e0"
  "http|server/http|HTTP/1.1, TLS, keys|#fbe9e0"
  "check|models/check|verify, bisect, selftest, trace|#dcebf7"
  "serve|models/serve|generation, conversations|#dcebf7"
  "measure|models/measure|perplexity, importance matrices|#dcebf7"
  "run|models/run|models, sessions, memory|#dcebf7"
  "adapters|models/adapters|LoRAs, control vectors|#dcebf7"
  "quantize|models/quantize|converts weights|#dcebf7"
  "arch|models/arch|architectures, one page each|#dcebf7"
  "files|models/files|GGUF and safetensors|#dcebf7"
  "chat_turn|models/text/chat|turns of a chat|#d8eeee"
  "reply|models/text/reply|reasoning, tool calls|#d8eeee"
  "grammar|models/text/grammar|grammars, JSON Schema, masks|#d8eeee"
  "template|models/text/template|chat templates|#d8eeee"
  "sample|models/text/sample|logits to a token|#d8eeee"
  "tokenize|models/text/tokenize|text to ids and back|#d8eeee"
  "scheduler|scheduler|passes, planner, executors, verifier|#e3f1de"
  "backends|backends|reference and SIMD kernels|#f6e2dd"
  "ops|ops|ops with definitions, formats|#ebe4f4"
  "draw|graph/draw|pictures|#e6e6e6"
  "graph|graph|shapes, nodes, checks|#e6e6e6"
  "base|graph/base|errors, UTF-8|#e6e6e6"
)

# CMake writes each dependency as: "node1" -> "node2" // weft_run -> weft_arch. Only edges between
# boxes are kept. A program that links weft_cli or weft_models gets edges to the libraries that
# those link.
edges() {
  sed -nE 's|.*// ([A-Za-z_0-9:]+) -> ([A-Za-z_0-9:]+)$|\1 \2|p' "$scratch/targets.dot" |
    sed -E 's/weft_([a-z_]+)/\1/g' |
    awk -v names="${boxes[*]%%|*}" '
      BEGIN { split(names, list, " "); for (i in list) shown[list[i]] = 1 }
      { uses[$1] = uses[$1] " " $2 }
      function print_uses(box, target,    n, i, used) {
        n = split(uses[target], used, " ")
        for (i = 1; i <= n; ++i) {
          if (used[i] in shown) { if (used[i] != box) printf "\"%s\" -> \"%s\";\n", box, used[i] }
          else if (used[i] ~ /^(cli|models|program)$/) print_uses(box, used[i])
        }
      }
      END { for (box in shown) print_uses(box, box) }' | sort -u
}

{
  echo 'digraph house {'
  echo 'graph [rankdir=TB, nodesep=0.3, ranksep=0.42, fontname="Helvetica", bgcolor=white, pad=0.2];'
  echo 'node [shape=box, style="filled,rounded", color="#8a8a8a", fontname="Helvetica", fontsize=14,'
  echo '  margin="0.18,0.09"];'
  echo 'edge [color="#6b6b6b", arrowsize=0.8];'
  while IFS='|' read -r name title line colour; do
    grep -q "weft_$name\|// $name " "$scratch/targets.dot" || continue
    printf '"%s" [fillcolor="%s", label=<<b>%s</b><br/><font point-size="11" color="#444444">%s</font>>];\n' \
      "$name" "$colour" "$title" "$line"
  done < <(printf '%s\n' "${boxes[@]}")
  echo '{ rank=same; generate; chat; weft; }'
  edges
  echo '}'
} > "$scratch/house.dot"

tred "$scratch/house.dot" | dot -T"${out##*.}" ${DPI:+-Gdpi="$DPI"} -o "$scratch/picture"
mv "$scratch/picture" "$out"
