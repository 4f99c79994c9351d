// Changes that make another model, and changes that do not.
#include "weft/files/identity.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/convert.h"
#include "weft/files/gguf_writer.h"

#include "safetensors/tiny_directory.h"
#include "support/error_text.h"
#include "support/file_bytes.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::TempFolder;
using test::text_of;

struct Made {
  std::string name = "a";
  DType type = f32;
  Shape shape{700, 1000};  // two pieces
  std::string key = "general.name", value = "model";
};

// A file with that tensor and a small one.
void write_made(const Made& made, const std::string& path) {
  static const std::vector<std::byte> bytes(700 * 1000 * 4 + 64, std::byte{3});
  GgufWriter writer;
  writer.add(made.key, {MetaType::string, made.value});
  const TensorSpec spec{made.type, made.shape};
  writer.add_tensor(made.name, spec,
                    std::span(bytes).first(static_cast<std::size_t>(spec.bytes())));
  writer.add_tensor("small", {f32, {16}}, std::span(bytes).first(64));
  writer.write(path);
}

void flip_byte(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int old = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(old ^ 1));
}

std::uint64_t contents_of(const std::string& path, int threads = 1) {
  return Identity(Checkpoint::open(path)).contents({.threads = threads});
}

TEST_CASE(
    "descriptions differ with metadata, names, types and shapes, contents with tensors only") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  std::vector<Made> all(6);
  all[1].name = "b";
  all[2].type = i32;
  all[3].shape = {1000, 700};
  all[4].key = "general.title";
  all[5].value = "another";
  std::set<std::uint64_t> descriptions, contents;
  for (const Made& made : all) {
    write_made(made, path);
    Identity identity(Checkpoint::open(path));
    descriptions.insert(identity.description());
    contents.insert(identity.contents());
  }
  CHECK(descriptions.size() == all.size());
  CHECK(contents.size() == 4);
}

TEST_CASE("any byte of any tensor changes the contents, and not the description") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_made({}, path);
  const Checkpoint file = Checkpoint::open(path);
  const std::uint64_t description = Identity(file).description();
  std::set<std::uint64_t> sums{Identity(file).contents()};
  std::size_t n = 1;
  for (const CheckpointTensor& t : file.tensors()) {
    const auto n_bytes = static_cast<std::uint64_t>(t.n_bytes);
    for (const std::uint64_t at : {std::uint64_t{0}, n_bytes / 3, n_bytes / 2, n_bytes - 1}) {
      flip_byte(path, t.file_offset + at);
      Identity identity(Checkpoint::open(path));
      CHECK(identity.description() == description);
      sums.insert(identity.contents());
      ++n;
      flip_byte(path, t.file_offset + at);
    }
  }
  CHECK(sums.size() == n);
  CHECK(sums.contains(contents_of(path)));
}

TEST_CASE("the identity does not depend on threads, places, layout keys or who read the pieces") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf", copy = folder / "copy.gguf";
  write_made({}, path);
  std::filesystem::copy(path, copy);
  const std::uint64_t expected = contents_of(path);
  for (const int threads : {0, 2, 5, 100}) CHECK(contents_of(copy, threads) == expected);
  const Checkpoint file = Checkpoint::open(path);
  CHECK(Identity(file.with_keys(std::vector<KeyOverride>{{"split.count", std::int64_t{0}}}))
            .description() == Identity(file).description());

  Identity identity(file);
  for (const CheckpointTensor& tensor : file.tensors()) {
    std::vector<std::uint64_t> sums;
    for (std::int64_t r = 0; r < tensor.n_rows(); r += piece_rows(tensor))
      sums.push_back(piece_checksum(tensor, r, std::min(r + piece_rows(tensor), tensor.n_rows())));
    CHECK(sums.size() == (tensor.name == "small" ? 1 : 2));
    identity.add(tensor, sums);
  }
  CHECK(!identity.known_contents());
  double read = 0;
  CHECK(identity.contents({.progress = [&](double share) { return (read = share) == 1; }}) ==
        expected);  // nothing was left to read
  CHECK(identity.known_contents() == expected);
}

TEST_CASE("rows in another order in the file are the same contents") {
  test::TinyDirectory dir;
  dir.config.update({{"hidden_size", 4}, {"num_attention_heads", 2}});
  dir.tensors = {{"model.embed_tokens.weight", "F16", {4, 2}, 16},
                 {"model.layers.0.self_attn.k_proj.weight", "F16", {8, 500}, 8000}};
  std::string bytes = test::stored_file(dir.tensors);
  for (std::size_t i = 0; i < 8000; i += 2)
    bytes[bytes.size() - 8000 + i] = static_cast<char>(i / 7);
  dir.write("model.safetensors", bytes);
  const Checkpoint directory = dir.open();
  CHECK(!directory.find_tensor("blk.0.attn_k.weight")->runs.empty());
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_gguf(directory, path);
  CHECK(Identity(directory).contents({.threads = 2, .release_pages = true}) == contents_of(path));
}

TEST_CASE("files that are written while they are mapped have no identity") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_made({}, path);
  const Checkpoint file = Checkpoint::open(path);
  const auto time = std::filesystem::last_write_time(path);
  flip_byte(path, file.tensors()[0].file_offset + 5);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  CHECK(text_of([&] {
          Identity(file).contents();
        }).starts_with(path + ": was written while it was in use"));
  std::filesystem::resize_file(path, file.tensors()[0].file_offset + 100);
  CHECK(text_of([&] { Identity(file).contents({.threads = 2}); }).find("cannot read bytes") !=
        std::string::npos);
}

TEST_CASE("reading the contents can be cancelled, and done again") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_made({}, path);
  Identity identity(Checkpoint::open(path));
  CHECK_THROWS_AS(identity.contents({.threads = 2, .progress = [](double) { return false; }}),
                  CancelledError);
  CHECK(identity.contents() == contents_of(path));
}

TEST_CASE("the contents of files with a known stamp are not read again") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_made({}, path);
  std::this_thread::sleep_for(std::chrono::milliseconds(2600));  // then the file has a stamp
  int reads = 0;
  const auto count = [&](double) { return ++reads > 0; };
  const std::uint64_t expected = Identity(Checkpoint::open(path)).contents({.progress = count});
  CHECK(reads > 0);
  reads = 0;
  CHECK(Identity(Checkpoint::open(path)).contents({.progress = count}) == expected);
  CHECK(reads == 0);

  const auto time = std::filesystem::last_write_time(path);
  flip_byte(path, Checkpoint::open(path).tensors()[0].file_offset + 1'500'000);
  std::filesystem::last_write_time(path, time);
  CHECK(contents_of(path) != expected);
}

TEST_CASE("contents that were kept count until others are known") {
  const TempFolder folder;
  const std::string path = folder / "m.gguf";
  write_made({}, path);
  Identity identity(Checkpoint::open(path));
  identity.set_contents(7);
  CHECK(identity.contents() == 7);
  identity.set_contents(8);
  CHECK(identity.contents() == 7);
}

}  // namespace
}  // namespace weft
