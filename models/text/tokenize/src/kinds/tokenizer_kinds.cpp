#include "weft/tokenize/tokenizer_kinds.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"

#include "kinds/bpe.h"
#include "kinds/hybrid_dna.h"
#include "kinds/pipeline.h"
#include "kinds/plamo2.h"
#include "kinds/rwkv.h"
#include "kinds/spm.h"
#include "kinds/unigram.h"
#include "kinds/wordpiece.h"

namespace weft {

using namespace tokenize;

namespace {

constexpr TokenizerKind kKinds[] = {
    {"llama", spm_defaults, make_spm},
    {"gpt2", bpe_defaults, make_bpe},
    // Early files of this kind ask for no BOS by mistake.
    {"gemma4", bpe_defaults, make_bpe, /*rule=*/"gemma4", /*needs_bos=*/true},
    {"whitespace", bpe_defaults, make_bpe, /*rule=*/"whitespace"},
    {"hybriddna", bpe_defaults, make_hybrid_dna},
    {.name = "bert", .defaults = wordpiece_defaults, .make = make_wordpiece, .for_encoders = true},
    {"t5", unigram_defaults, make_unigram},
    {"rwkv", rwkv_defaults, make_rwkv},
    {"plamo2", plamo2_defaults, make_plamo2},
    {"pipeline", pipeline_defaults, make_pipeline},
};

}  // namespace

std::span<const TokenizerKind> tokenizer_kinds() {
  return kKinds;
}

const TokenizerKind* find_tokenizer_kind(std::string_view name) {
  for (const TokenizerKind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::shared_ptr<const Tokenizer> make_tokenizer(std::shared_ptr<const Vocabulary> vocabulary) {
  if (!vocabulary->has_texts()) {
    fail<UnsupportedError>(
        "the model has no tokenizer (tokenizer.ggml.model is '{}'): pass token ids instead",
        vocabulary->kind());
  }
  if (vocabulary->pipeline()) return make_pipeline(std::move(vocabulary));
  if (const TokenizerKind* kind = find_tokenizer_kind(vocabulary->kind()))
    return kind->make(std::move(vocabulary));
  std::vector<std::string_view> known;
  for (const TokenizerKind& kind : kKinds) known.push_back(kind.name);
  fail<UnsupportedError>("unknown tokenizer.ggml.model '{}' (known: {})", vocabulary->kind(),
                         fmt::join(known, ", "));
}

}  // namespace weft
