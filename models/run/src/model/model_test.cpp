#include "weft/run/model.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/base/read_file.h"
#include "weft/files/identity.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"
#include "weft/tokenize/tokenizer.h"

#include "support/reference.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

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

TEST_CASE("a session of bytes in memory leaves them as they are") {
  const test::TempFolder folder;
  const std::string path = (folder / "tiny.gguf").string();
  test::write_tiny_model({.matrices = q8_0}, path);
  const std::string text = read_file(path);
  const std::string kept = text;
  const auto bytes = std::as_bytes(std::span(text));
  const auto model = Model::load(Checkpoint::parse(bytes, "lent"));
  Session session(model, {.context = 16, .weights = WeightMode::resident});
  session.feed(0, std::vector{1, 2, 3});
  CHECK(text == kept);
  model->identity().contents({.threads = 1, .release_pages = true});
  CHECK(text == kept);

  Session mapped(Model::load(path), {.context = 16});
  mapped.feed(0, std::vector{1, 2, 3});
  CHECK(std::ranges::equal(session.logits(), mapped.logits()));
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
