// Messages about an importance matrix and about patterns that do not fit the file.

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/files/gguf_writer.h"
#include "weft/quantize/quantize.h"

#include "support/temp_folder.h"
#include "tensors.h"

namespace weft {
namespace {

// A mixture of three experts with four layers, and importances of 1 for all of its tensors.
struct Mixture {
  test::TempFolder folder;
  Imatrix imatrix;

  Checkpoint file() {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    std::vector<float> values(3 * 8 * 256);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<float>(i) * 0.7f) / (1 + static_cast<float>(i % 13));
    const auto add = [&](const std::string& name, const Shape& shape) {
      writer.add_tensor(
          name, {f32, shape},
          std::as_bytes(std::span(values).first(static_cast<std::size_t>(shape.elems()))));
    };
    add("token_embd.weight", {16, 256});
    for (int i = 0; i < 4; ++i) {
      add(fmt::format("blk.{}.ffn_down.weight", i), {8, 256});
      add(fmt::format("blk.{}.ffn_up_exps.weight", i), {3, 8, 256});
      add(fmt::format("blk.{}.ffn_gate_inp.weight", i), {3, 256});
    }
    add("output.weight", {16, 256});
    writer.write(folder / "in.gguf");
    Checkpoint made = Checkpoint::open(folder / "in.gguf");
    for (const CheckpointTensor& t : made.tensors()) {
      const quantize::Rows rows = quantize::rows_of(t.spec);
      imatrix.entries[std::string(t.name)] = {
          .sums = std::vector<float>(static_cast<std::size_t>(rows.n_cols * rows.n_matrices), 2.0f),
          .counts = std::vector<std::int64_t>(static_cast<std::size_t>(rows.n_matrices), 2)};
    }
    return made;
  }
};

std::vector<std::string> warnings_of(const Checkpoint& file, const char* type, const Imatrix& m) {
  return plan_quantize(file, {.type = type, .imatrix = &m}).warnings;
}

std::vector<std::byte> quantized_experts(Mixture& made, const Checkpoint& file) {
  const QuantizeOptions options{.type = "Q4_0", .imatrix = &made.imatrix};
  quantize_file(file, plan_quantize(file, options), options, {}, made.folder / "out.gguf");
  const Checkpoint out = Checkpoint::open(made.folder / "out.gguf");
  const CheckpointTensor& t = *out.find_tensor("blk.0.ffn_up_exps.weight");
  return {t.data, t.data + t.n_bytes};
}

TEST_CASE("gaps of an importance matrix are reported at every bit width") {
  Mixture made;
  const Checkpoint file = made.file();
  Imatrix& m = made.imatrix;
  m.source = "m.gguf";
  // The embedding is looked up, and the output matrix is only collected on request.
  m.entries.erase("token_embd.weight");
  m.entries.erase("output.weight");
  // The router is not quantized.
  m.entries.erase("blk.0.ffn_gate_inp.weight");
  for (const char* type : {"Q4_0", "Q4_K_M", "Q6_K", "Q8_0", "F16"}) {
    CAPTURE(type);
    CHECK(warnings_of(file, type, m).empty());
  }
  m.entries.at("blk.1.ffn_up_exps.weight").counts = {2, 0, 0};
  m.entries.at("blk.2.ffn_up_exps.weight").counts = {0, 2, 2};
  for (int i = 0; i < 3; ++i) m.entries.erase(fmt::format("blk.{}.ffn_down.weight", i));
  m.entries.at("blk.3.ffn_down.weight").counts = {0};
  const std::vector<std::string> lines = {
      "m.gguf: no importances for 4 of 8 tensors, whose errors are not weighted: "
      "blk.0.ffn_down.weight, blk.1.ffn_down.weight, blk.2.ffn_down.weight, ...",
      "m.gguf: 3 experts of 2 tensors were never used by the text, so their errors are not "
      "weighted: blk.1.ffn_up_exps.weight, blk.2.ffn_up_exps.weight"};
  for (const char* type : {"Q2_K", "Q4_0", "Q6_K"}) {
    CAPTURE(type);
    CHECK(warnings_of(file, type, m) == lines);
  }
  // F16 rounds each weight for itself.
  CHECK(warnings_of(file, "F16", m).empty());
}

TEST_CASE("a pattern that matches no tensor is refused by name") {
  Mixture made;
  const Checkpoint file = made.file();
  const auto plan = [&](const char* pattern) {
    plan_quantize(file,
                  {.type = "Q4_0", .tensor_types = {{"ffn_down", "Q8_0"}, {pattern, "Q8_0"}}});
  };
  CHECK_NOTHROW(plan("ffn_(up|gate)_exps"));
  for (const char* pattern : {"attn_v", "ffn_gate_inp"}) {
    CHECK_THROWS_WITH_AS(plan(pattern),
                         fmt::format("{}: the pattern '{}' matches no tensor that may be "
                                     "quantized, such as 'token_embd.weight' and 'output.weight'",
                                     std::string(made.folder / "in.gguf"), pattern)
                             .c_str(),
                         ValueError);
  }
}

TEST_CASE("importances of an expert change the bytes of that expert only") {
  Mixture made;
  const Checkpoint file = made.file();
  const std::vector<std::byte> even = quantized_experts(made, file);
  std::vector<float>& sums = made.imatrix.entries.at("blk.0.ffn_up_exps.weight").sums;
  for (std::size_t c = 0; c < 256; ++c) sums[256 + c] = c % 7 == 0 ? 1e4f : 1e-4f;
  const std::vector<std::byte> uneven = quantized_experts(made, file);
  const auto third = static_cast<std::ptrdiff_t>(even.size() / 3);
  for (const int expert : {0, 1, 2}) {
    const bool same = std::equal(even.begin() + expert * third, even.begin() + (expert + 1) * third,
                                 uneven.begin() + expert * third);
    CHECK(same == (expert != 1));
  }
}

}  // namespace
}  // namespace weft
