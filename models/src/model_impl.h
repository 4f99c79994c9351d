#pragma once
// What sessions need of a model beyond its public face.

#include "weft/models/builder.h"
#include "weft/models/model.h"
#include "weft/models/tokenizer.h"

#include "gguf_source.h"

namespace weft {

struct Model::Impl {
  explicit Impl(GgufFile file) : source(std::move(file)) {}

  GgufSource source;
  const Architecture* architecture = nullptr;
  Hparams hparams;
  ModelFacts facts;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<const Tokenizer> tokenizer;  // null where the file has none that we know
  std::string no_tokenizer;                    // why
  std::vector<std::string> warnings;
};

}  // namespace weft
