// Parts of tensors against the addresses of their bytes, computed one by one.

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/identity.h"
#include "weft/files/mapped_file.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"

#include "safetensors/tiny_directory.h"
#include "support/error_text.h"

namespace weft {
namespace {

using test::text_of;

using TensorParts = std::vector<TensorPart>;
using Addresses = std::vector<const std::byte*>;  // where each byte of a tensor is

std::int64_t below(std::mt19937& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

std::string random_text(std::size_t n, std::mt19937& random) {
  std::string text(n, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

GgufWriter writer_of(const std::vector<std::pair<std::string, TensorSpec>>& tensors) {
  std::mt19937 random(7);
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  for (const auto& [name, spec] : tensors) {
    const std::string bytes = random_text(static_cast<std::size_t>(spec.bytes()), random);
    writer.add_tensor(
        name, spec, [bytes](const GgufWriter::Put& put) { put(std::as_bytes(std::span(bytes))); });
  }
  return writer;
}

Checkpoint make_file(const std::vector<std::pair<std::string, TensorSpec>>& tensors) {
  return Checkpoint::parse(MappedFile::anonymous(writer_of(tensors).to_bytes()), "f");
}

// Follows the description of RowRun, for runs with all columns.
Addresses addresses_of(const CheckpointTensor& t) {
  Addresses all;
  if (t.runs.empty()) {
    for (std::int64_t i = 0; i < t.n_bytes; ++i) all.push_back(t.data + i);
  }
  const std::int64_t elem = t.spec.dtype.bytes(1);
  for (const RowRun& run : t.runs) {
    for (std::int64_t r = 0; r < run.n_rows; ++r) {
      const std::byte* row =
          run.data + r / run.inner * run.outer_stride + r % run.inner * run.row_stride;
      for (std::int64_t i = 0; i < t.row_bytes(); ++i)
        all.push_back(row + (run.elem_stride ? i / elem * run.elem_stride + i % elem : i));
    }
  }
  return all;
}

// The addresses of a cut of a tensor with these addresses.
Addresses take(const TensorSpec& spec, const Addresses& from, const TensorCut& part) {
  const int rank = spec.shape.n_dims();
  const std::int64_t block = part.axis == rank - 1 ? spec.dtype.block_elems() : 1;
  const std::int64_t dim = spec.shape[part.axis].bound / block;
  std::int64_t n_outer = 1;
  for (int i = 0; i < part.axis; ++i) n_outer *= spec.shape[i].bound;
  const std::int64_t n_inner = std::ssize(from) / n_outer / dim;  // bytes
  auto ranges = part.ranges;
  if (ranges.empty()) ranges = {{0, dim * block}};
  Addresses all;
  for (std::int64_t outer = 0; outer < n_outer; ++outer) {
    for (const auto& [first, last] : ranges) {
      const auto begin = from.begin() + (outer * dim + first / block) * n_inner;
      all.insert(all.end(), begin, begin + (last - first) / block * n_inner);
    }
  }
  return all;
}

// Some ranges of a random axis, in a random order.
TensorCut random_cut(const TensorSpec& spec, std::mt19937& random) {
  TensorCut part;
  part.axis = static_cast<int>(below(random, spec.shape.n_dims()));
  const std::int64_t block = part.axis == spec.shape.n_dims() - 1 ? spec.dtype.block_elems() : 1;
  std::set<std::int64_t> ends;
  for (std::int64_t n = 2 + below(random, 7); n > 0; --n)
    ends.insert(below(random, spec.shape[part.axis].bound / block + 1) * block);
  const std::vector<std::int64_t> at(ends.begin(), ends.end());
  // Some of them are next to each other.
  for (std::size_t i = 1; i < at.size(); i += 1 + random() % 2)
    part.ranges.emplace_back(at[i - 1], at[i]);
  std::ranges::shuffle(part.ranges, random);
  return part;
}

Shape with_dim(const Shape& shape, const TensorCut& cut) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  std::int64_t n = cut.ranges.empty() ? shape[cut.axis].bound : 0;
  for (const auto& [first, last] : cut.ranges) n += last - first;
  dims[static_cast<std::size_t>(cut.axis)] = n;
  return Shape(dims);
}

// Checks some rows, and that their sources have all of their bytes.
void check_rows(const CheckpointTensor& t, const Addresses& expected, std::mt19937& random) {
  REQUIRE(t.n_bytes == std::ssize(expected));
  CHECK(t.n_bytes == t.spec.bytes());
  CHECK((t.data == nullptr) == !t.runs.empty());
  for (int i = 0; i < 6; ++i) {
    const std::int64_t first = i == 0 ? 0 : below(random, t.n_rows());
    const std::int64_t n = i == 0 ? t.n_rows() : 1 + below(random, t.n_rows() - first);
    std::vector<std::byte> rows(static_cast<std::size_t>(n * t.row_bytes()));
    copy_rows(t, first, first + n, rows.data());
    const std::vector<RowSource> sources = row_sources(t, first, first + n);
    const auto is_in = [](const std::byte* at, const RowSource& from) {
      return at >= from.bytes.data() && at < from.bytes.data() + from.bytes.size();
    };
    std::size_t wrong = 0, not_covered = 0, needed_later = 0;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const std::byte* at = expected[b + static_cast<std::size_t>(first * t.row_bytes())];
      wrong += rows[b] != *at;
      not_covered +=
          std::ranges::none_of(sources, [&](const RowSource& from) { return is_in(at, from); });
    }
    for (std::size_t b = static_cast<std::size_t>((first + n) * t.row_bytes()); b < expected.size();
         ++b)
      needed_later += std::ranges::any_of(
          sources, [&](const RowSource& from) { return from.last && is_in(expected[b], from); });
    CHECK(wrong == 0);
    CHECK(not_covered == 0);
    CHECK(needed_later == 0);
    for (const RowSource& from : sources)
      CHECK(from.bytes.data() - from.file_offset ==
            sources[0].bytes.data() - sources[0].file_offset);
  }
}

// Checks random parts of a tensor, and parts of them.
void check_random_parts(const Checkpoint& file, const CheckpointTensor& source, int n) {
  std::mt19937 random(static_cast<unsigned>(source.n_bytes));
  for (int i = 0; i < n; ++i) {
    Checkpoint cut = file;
    Addresses expected = addresses_of(source);
    std::string name(source.name);
    for (int depth = 0; depth < 3; ++depth) {
      const CheckpointTensor& from = *cut.find_tensor(name);
      TensorPart part{.name = "part", .source = name, .cuts = {}};
      TensorSpec spec = from.spec;
      CAPTURE(to_string(spec));
      for (std::int64_t more = below(random, 3); more >= 0; --more) {
        const TensorCut& made = part.cuts.emplace_back(random_cut(spec, random));
        expected = take(spec, expected, made);
        spec = {spec.dtype, with_dim(spec.shape, made)};
      }
      const bool was_contiguous = from.runs.empty();
      cut = cut.with_parts(std::span(&part, 1));
      REQUIRE(cut.tensors().size() == 1);
      check_rows(cut.tensors()[0], expected, random);
      const bool contiguous = expected.back() - expected.front() == std::ssize(expected) - 1 &&
                              std::ranges::is_sorted(expected);
      if (was_contiguous && part.cuts.size() == 1)
        CHECK(cut.tensors()[0].runs.empty() == contiguous);
      name = part.name;
    }
  }
}

TEST_CASE("parts of tensors of all ranks and types, and parts of parts") {
  std::vector<std::pair<std::string, TensorSpec>> tensors;
  for (const DType type : {f32, f16, q8_0, q4_k}) {
    const std::int64_t block = type.block_elems();
    for (const Shape& shape :
         {Shape{6 * block}, Shape{7, 3 * block}, Shape{1, 4 * block}, Shape{3, 5, 4 * block},
          Shape{1, 6, 2 * block}, Shape{2, 3, 4, 3 * block}})
      tensors.emplace_back("t" + std::to_string(tensors.size()), TensorSpec{type, shape});
  }
  const Checkpoint file = make_file(tensors);
  for (const CheckpointTensor& t : file.tensors()) check_random_parts(file, t, 20);
}

TEST_CASE("parts of the experts of older files") {
  const TensorSpec matrix{q8_0, {4, 96}};
  const Checkpoint file = make_file({{"blk.0.ffn_up.1.weight", matrix},
                                     {"blk.0.ffn_up.2.weight", matrix},
                                     {"blk.0.ffn_up.0.weight", matrix}});
  REQUIRE(file.tensors().size() == 1);
  check_random_parts(file, file.tensors()[0], 40);
}

TEST_CASE("parts of tensors of directories that are transposed, or have rows in another order") {
  std::mt19937 random(3);
  const auto fill = [&](test::TinyDirectory& dir) {
    std::string bytes = test::stored_file(dir.tensors);
    const std::size_t n = dir.tensors.front().n_bytes;
    bytes.replace(bytes.size() - n, n, random_text(n, random));
    dir.write("model.safetensors", bytes);
    return dir.open();
  };
  test::TinyDirectory gpt2;
  gpt2.config = {{"model_type", "gpt2"}, {"vocab_size", 4}, {"n_positions", 64}, {"n_embd", 6},
                 {"n_layer", 1},         {"n_head", 2},     {"n_inner", 10}};
  gpt2.tensors = {{"h.0.mlp.c_fc.weight", "F16", {6, 10}, 120}};
  const Checkpoint transposed = fill(gpt2);
  const CheckpointTensor& up = *transposed.find_tensor("blk.0.ffn_up.weight");
  REQUIRE(up.runs.size() == 1);
  CHECK(up.runs[0].elem_stride == 20);
  check_random_parts(transposed, up, 60);

  test::TinyDirectory llama;
  llama.config.update({{"hidden_size", 8}, {"num_attention_heads", 3}});
  llama.tensors = {{"model.layers.0.self_attn.q_proj.weight", "BF16", {18, 8}, 288}};
  const Checkpoint paired = fill(llama);
  const CheckpointTensor& q = *paired.find_tensor("blk.0.attn_q.weight");
  REQUIRE(q.runs.size() == 3);
  CHECK(q.runs[0].inner == 2);
  check_random_parts(paired, q, 60);
}

TEST_CASE("parts keep the metadata, the order of their sources and their own names") {
  const auto make = [] {
    const Checkpoint file = make_file({{"a", {f32, {4, 8}}}, {"b", {f32, {6}}}});
    const std::string suffix(40, 'x');
    return file.with_parts(TensorParts{{.name = "whole" + suffix, .source = "b"},
                                       {.name = "b", .source = "a", .cuts = {{0, {{1, 3}}}}},
                                       {.name = "a", .source = "a", .cuts = {{1, {{4, 8}}}}}});
  };
  const Checkpoint cut = make();
  CHECK(cut.path() == "f");
  CHECK(cut.find_string("general.architecture") == "llama");
  REQUIRE(cut.tensors().size() == 3);
  CHECK(cut.tensors()[0].name == "b");
  CHECK(cut.tensors()[0].spec == TensorSpec{f32, {2, 8}});
  CHECK(cut.tensors()[1].spec == TensorSpec{f32, {4, 4}});
  CHECK(cut.tensors()[2].name == "whole" + std::string(40, 'x'));
  CHECK(cut.find_tensor("a") == &cut.tensors()[1]);
  // Mapped where they are in the file.
  CHECK(cut.tensors()[0].file_offset + 96 == cut.tensors()[2].file_offset);
  CHECK(cut.tensors()[0].data + 96 == cut.tensors()[2].data);
  CHECK(cut.with_parts({}).tensors().empty());
}

TEST_CASE("the sources of a part leave out long pieces of the file that it does not have") {
  const Checkpoint file = make_file({{"x", {f32, {4, 64, 1024}}}});
  const Checkpoint cut = file.with_parts(
      TensorParts{{.name = "rows", .source = "x", .cuts = {{1, {{16, 32}}}}},
                  {.name = "cols", .source = "x", .cuts = {{2, {{512, 640}, {0, 128}}}}}});
  const std::byte* data = file.tensors()[0].data;
  const CheckpointTensor& rows = cut.tensors()[0];
  CHECK(rows.runs.size() == 1);
  const std::vector<RowSource> sources = row_sources(rows, 8, 40);
  REQUIRE(sources.size() == 3);
  CHECK(sources[0].bytes.data() == data + 24 * 4096);
  CHECK(sources[0].bytes.size() == 8 * 4096);
  CHECK(sources[1].bytes.size() == 16 * 4096);
  CHECK(sources[2].bytes.data() == data + (128 + 16) * 4096);
  const std::vector<RowSource> cols = row_sources(cut.tensors()[1], 3, 5);
  REQUIRE(cols.size() == 2);
  CHECK(cols[0].bytes.data() == data + 3 * 4096 + 512 * 4);
  CHECK(cols[0].bytes.size() == 4096 + 128 * 4);
  CHECK(cols[0].last);
  const Checkpoint most =
      file.with_parts(TensorParts{{.name = "rows", .source = "x", .cuts = {{1, {{0, 56}}}}}});
  CHECK(row_sources(most.tensors()[0], 0, 2 * 56).size() == 1);  // 32 KiB are left out
}

TEST_CASE("each part of a model has an identity and a stamp of its own") {
  const TensorSpec spec{q8_0, {256, 96}};
  const Checkpoint file = make_file({{"x", spec}, {"b", {f32, {12}}}});
  const auto rank = [&](std::int64_t i) {
    return file.with_parts(TensorParts{
        {.name = "x", .source = "x", .cuts = {{1, {{32 * i, 32 * i + 32}}}}},
        {.name = "b", .source = "b", .cuts = {{0, {{2 * i, 2 * i + 2}, {6 + i, 7 + i}}}}}});
  };
  const auto contents = [](const Checkpoint& of) { return Identity(of).contents({.threads = 2}); };
  // Contents that are kept by stamps must not be those of another part with the same shapes.
  CHECK(contents(rank(0)) != contents(rank(1)));
  CHECK(contents(rank(0)) == contents(rank(0)));
  CHECK(rank(0).stamp().has_value());
  CHECK(rank(0).stamp() == rank(0).stamp());
  CHECK(rank(0).stamp() != rank(1).stamp());
  CHECK(rank(0).stamp() != file.stamp());
  CHECK(rank(0).with_keys({}).stamp() != rank(1).with_keys({}).stamp());
  CHECK(Identity(rank(0)).description() != Identity(file).description());

  // The same as of a file with these tensors.
  GgufWriter writer;
  const Checkpoint part = rank(1);
  for (const CheckpointTensor& t : part.tensors()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.n_bytes));
    copy_rows(t, 0, t.n_rows(), bytes.data());
    writer.add_tensor(std::string(t.name), t.spec,
                      [bytes](const GgufWriter::Put& put) { put(bytes); });
  }
  CHECK(contents(Checkpoint::parse(MappedFile::anonymous(writer.to_bytes()), "g")) ==
        contents(part));

  const std::vector<std::byte> lent = writer.to_bytes();
  const Checkpoint of_lent = Checkpoint::parse(lent, "l").with_parts(
      TensorParts{{.name = "x", .source = "x", .cuts = {{0, {{0, 1}, {2, 3}}}}}});
  CHECK(!of_lent.stamp());
  CHECK(row_sources(of_lent.tensors()[0], 0, 2)[0].lent);
}

TEST_CASE("parts that do not exist are refused by name") {
  const Checkpoint file = make_file({{"x", {q4_k, {8, 512}}}, {"v", {f32, {8}}}});
  const auto error = [&](const TensorPart& part) {
    return text_of([&] { file.with_parts(std::span(&part, 1)); });
  };
  CHECK(error({"x", "y", {{0, {}}}}) == "f: has no tensor 'y'");
  CHECK(error({"x", "x", {{1, {{256, 352}}}}}) ==
        "tensor 'x': columns 256..352 of Q4_K are not whole blocks of 256");
  CHECK(error({"x", "x", {{1, {{96, 256}}}}}) ==
        "tensor 'x': columns 96..256 of Q4_K are not whole blocks of 256");
  CHECK(error({"x", "x", {{2, {}}}}) == "tensor 'x': axis 2 must be below 2, the rank of [8, 512]");
  CHECK(error({"x", "x", {{-1, {}}}}) ==
        "tensor 'x': axis -1 must be below 2, the rank of [8, 512]");
  const std::string bounds = " of axis 0 must not be empty, and be within 0..8";
  CHECK(error({"x", "x", {{0, {{0, 9}}}}}) == "tensor 'x': range 0..9" + bounds);
  CHECK(error({"x", "x", {{0, {{-1, 2}}}}}) == "tensor 'x': range -1..2" + bounds);
  CHECK(error({"v", "v", {{0, {{3, 3}}}}}) == "tensor 'v': range 3..3" + bounds);
  CHECK(error({"v", "v", {{0, {{5, 2}}}}}) == "tensor 'v': range 5..2" + bounds);
  CHECK(error({"x", "x", {{0, {{4, 8}, {0, 5}}}}}) ==
        "tensor 'x': ranges 0..5 and 4..8 of axis 0 overlap");
  CHECK_THROWS_AS(file.with_parts(TensorParts{{"x", "y", {{0, {}}}}}), ValueError);
  CHECK_THROWS_AS(file.with_parts(TensorParts{{"v", "v", {{0, {{0, 9}}}}}}), ValueError);
  CHECK_THROWS_WITH_AS(file.with_parts(TensorParts{{"x", "x", {{0, {}}}}, {"x", "v", {{0, {}}}}}),
                       "f: tensor 'x' appears twice", FormatError);
}

}  // namespace
}  // namespace weft
