#include "weft/run/model.h"

#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

#include "support/reference.h"

using namespace weft;

TEST_CASE("golden models of the known families load") {
  const auto folder = test::reference("golden/archs");
  if (!folder) return;
  for (const char* name : {"llama", "llama-spm-vocab", "llama-linear-scale", "llama-1layer-odd",
                           "qwen2", "qwen2-bpe-vocab", "qwen3", "qwen3-tied", "qwen3-embed"}) {
    CAPTURE(name);
    const std::string path = (*folder / (std::string(name) + ".gguf")).string();
    const auto model = Model::load(path);
    CHECK(model->facts().context == 256);
    CHECK(model->facts().n_vocab == model->vocabulary().size());
    CHECK(model->facts().n_params > 0);
    CHECK(model->facts().weight_bytes == 4 * model->facts().n_params);
    CHECK(model->has_tokenizer() == (std::string(name).ends_with("-vocab")));
    if (!model->has_tokenizer()) {
      CHECK_THROWS_WITH_AS(model->tokenizer(), (path + " has no tokenizer").c_str(),
                           UnsupportedError);
    }
  }
}

TEST_CASE("loading can be stopped") {
  const auto folder = test::reference("golden/archs");
  if (!folder) return;
  const std::string path = (*folder / "llama.gguf").string();
  double last = -1;
  const auto record = [&](double share) {
    CHECK(share >= last);
    last = share;
    return true;
  };
  Model::load(path, {.progress = record});
  CHECK(last == 1);
  CHECK_THROWS_AS(Model::load(path, {.progress = [](double share) { return share < 0.5; }}),
                  CancelledError);
}
