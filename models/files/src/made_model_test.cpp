// Made models as files, and files that may be written beside a model.
#include "weft/files/made_model.h"

#include <fstream>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q8_0.h"

#include "support/file_bytes.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::file_bytes;

arch::MadeSource source_of(const arch::MadeSizes& sizes = {}) {
  arch::MadeSource source("llama", sizes);
  source.type_of = arch::matrices_of(q8_0);
  source.learn();
  return source;
}

TEST_CASE("a made model: its keys and tensors, the same bytes every time") {
  const test::TempFolder folder;
  const std::string path = (folder / "a.gguf").string(), again = (folder / "b.gguf").string();
  arch::MadeSource source = source_of();
  source.keys["general.name"] = std::string("made");
  source.keys["llama.some.flag"] = true;
  source.keys["llama.some.list"] = std::vector<std::int64_t>{3, 1};
  std::vector<std::string> changed;
  write_made_model(source, path, {.change = [&](const std::string& name, std::vector<float>&) {
                     changed.push_back(name);
                   }});
  CHECK(changed.size() == source.tensors().size());
  write_made_model(source, again);
  CHECK(file_bytes(path) == file_bytes(again));
  const Checkpoint file = Checkpoint::open(path);
  CHECK(file.find("llama.some.list") != nullptr);
  CHECK(file.tensors().size() == source.tensors().size());
  for (const arch::MadeSource::Tensor& tensor : source.tensors()) {
    const CheckpointTensor* found = file.find_tensor(tensor.name);
    REQUIRE(found);
    CHECK(found->spec.shape == tensor.spec.shape);
    CHECK(found->spec.dtype == tensor.spec.dtype);
  }
  CHECK(file.find_tensor("blk.0.attn_q.weight")->spec.dtype == q8_0);
  CHECK(file.find_tensor("blk.0.attn_norm.weight")->spec.dtype == f32);
}

TEST_CASE("large tensors are drawn from a stock, and progress can end it") {
  const test::TempFolder folder;
  const std::string path = (folder / "large.gguf").string();
  const arch::MadeSource source = source_of({.L = 1, .D = 256, .V = 40000});
  double done = 0;
  write_made_model(source, path, {.progress = [&](double share) {
                     CHECK(share >= done);
                     done = share;
                     return true;
                   }});
  CHECK(done == 1);
  CHECK(Checkpoint::open(path).find_tensor("token_embd.weight")->spec.shape.elems() == 40000 * 256);
  const std::string none = (folder / "none.gguf").string();
  CHECK_THROWS_AS(write_made_model(source, none, {.progress = [](double) { return false; }}),
                  CancelledError);
  CHECK_FALSE(std::filesystem::exists(none));
}

TEST_CASE("keys that no file holds, and outputs that are inputs, are refused") {
  const test::TempFolder folder;
  const std::string path = (folder / "a.gguf").string();
  arch::MadeSource source = source_of();
  source.keys["llama.context_length"] = std::int64_t{-1};
  CHECK_THROWS_WITH_AS(write_made_model(source, path),
                       "key 'llama.context_length' must be 0 to 4294967295, got -1", ValueError);
  CHECK_FALSE(std::filesystem::exists(path));
  write_made_model(source_of(), path);
  const Checkpoint file = Checkpoint::open(path);
  CHECK_THROWS_WITH_AS(check_output(file, path),
                       doctest::Contains("the output must not be a file of the input"), ValueError);
  std::filesystem::create_symlink(path, folder / "link");
  CHECK_THROWS_AS(check_output(file, (folder / "link").string()), ValueError);
  CHECK_NOTHROW(check_output(file, (folder / "b.gguf").string()));
}

}  // namespace
}  // namespace weft
