// Opens files of the reference data: real vocabularies, small models whole and split, and files
// that lie.
#include "support/reference.h"

#include <fstream>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

TEST_CASE("whole, version 2 and split files hold the same tensors") {
  const auto dir = test::reference("models/stories260k");
  if (!dir) return;
  const Checkpoint whole = Checkpoint::open(*dir / "stories260K-f32.gguf");
  CHECK(whole.version() == 3);
  CHECK(whole.find_string("general.architecture") == "llama");
  CHECK(whole.find_strings("tokenizer.ggml.tokens")->size() == 512);
  CHECK(whole.find_floats("tokenizer.ggml.scores")->size() == 512);
  const Checkpoint old = Checkpoint::open(*dir / "stories260K-f32-v2.gguf");
  CHECK(old.version() == 2);
  const Checkpoint split = Checkpoint::open(*dir / "stories260K-f32-split-00001-of-00003.gguf");
  CHECK(split.part_paths().size() == 3);
  for (const Checkpoint* other : {&old, &split}) {
    REQUIRE(other->tensors().size() == whole.tensors().size());
    for (const CheckpointTensor& a : whole.tensors()) {
      const CheckpointTensor* b = other->find_tensor(a.name);
      REQUIRE(b != nullptr);
      CHECK(a.spec == b->spec);
      CHECK(std::equal(a.data, a.data + a.n_bytes, b->data, b->data + b->n_bytes));
    }
  }
  const std::string later = *dir / "stories260K-f32-split-00002-of-00003.gguf";
  const std::string first = *dir / "stories260K-f32-split-00001-of-00003.gguf";
  const std::string message = later + ": part 2 of 3; give the first part, " + first;
  CHECK_THROWS_WITH_AS(Checkpoint::open(later), message.c_str(), FormatError);
}

TEST_CASE("every file of the reference data opens") {
  const auto dir = test::reference("");
  if (!dir) return;
  for (const char* part : {"vocab", "models", "golden"}) {
    if (!fs::exists(*dir / part)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(*dir / part)) {
      const std::string path = entry.path();
      if (!path.ends_with(".gguf") || path.find("-of-") != std::string::npos) continue;
      CAPTURE(path);
      CHECK_NOTHROW(Checkpoint::open(path));
    }
  }
}

// These break promises of a model, not of the container: readers of hyper-parameters or weights
// refuse them.
const std::set<std::string> kNotOfTheContainer{
    "arch-wrong-type.gguf",  "arch-unknown.gguf",       "model-heads-huge.gguf",
    "model-kv-heads-3.gguf", "model-layers-huge.gguf",  "model-layers-6.gguf",
    "model-embd-0.gguf",     "model-rope-odd.gguf",     "model-rope-huge.gguf",
    "model-scores-u8.gguf",  "model-tensor-shape.gguf", "model-scores-wrong-elem-type.gguf",
};

TEST_CASE("inconsistent files are rejected with a message that names them") {
  const auto dir = test::reference("malformed");
  if (!dir) return;
  const auto manifest = nlohmann::json::parse(std::ifstream(*dir / "manifest.json"));
  for (const auto& entry : manifest["files"]) {
    const std::string name = entry["file"];
    const bool refuse = entry["expect"] == "must-reject" && !kNotOfTheContainer.contains(name);
    CAPTURE(name);
    try {
      Checkpoint::open(*dir / name);
      CHECK_FALSE(refuse);
    } catch (const Error& error) {
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(text.starts_with((*dir / name).string() + ": "));
      CHECK(text.size() < 400);
      CHECK_FALSE(entry["expect"] == "may-accept");
    }
  }
  CHECK_THROWS_AS(
      Checkpoint::open(*dir / "model-scores-u8.gguf").find_floats("tokenizer.ggml.scores"),
      FormatError);
  CHECK_THROWS_AS(Checkpoint::open(*dir / "model-scores-wrong-elem-type.gguf")
                      .find_ints("tokenizer.ggml.token_type"),
                  FormatError);
  CHECK_THROWS_AS(
      Checkpoint::open(*dir / "arch-wrong-type.gguf").find_string("general.architecture"),
      FormatError);
}

}  // namespace
}  // namespace weft
