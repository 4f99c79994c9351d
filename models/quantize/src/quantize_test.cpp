#include "weft/quantize/quantize.h"

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/half.h"
#include "weft/quantize/row_converter.h"

#include "support/npy.h"
#include "support/temp_folder.h"
#include "tensors.h"
#include "types.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

float weight(std::int64_t i) {
  return std::sin(static_cast<float>(i) * 0.7f) / (1 + static_cast<float>(i % 13));
}

// A model with every kind of tensor that is treated apart, in a folder of its own.
struct Sample {
  test::TempFolder folder;
  std::map<std::string, std::vector<float>> values;
  std::string path = folder / "in.gguf", out = folder / "out.gguf";
  GgufWriter writer;

  Sample() {
    writer.add_string("general.architecture", "llama");
    writer.add_u32("general.file_type", 0);
    writer.add_u32("llama.block_count", 8);
    writer.add_u32("llama.attention.head_count", 4);
    writer.add_u32("llama.attention.head_count_kv", 1);
    writer.add_u32("split.count", 1);
    add("token_embd.weight", {32, 256});
    for (int i = 0; i < 8; ++i) {
      const std::string blk = "blk." + std::to_string(i) + ".";
      add(blk + "attn_norm.weight", {256});
      add(blk + "attn_v.weight", {16, 256});
      add(blk + "attn_output.weight", {16, 48});
      add(blk + "ffn_down.weight", {16, 512});
      add(blk + "ffn_up_exps.weight", {3, 16, 256});
      add(blk + "ffn_gate_inp.weight", {3, 256});
    }
    add("output_norm.weight", {256});
    add("output.weight", {32, 256});
  }
  void add(const std::string& name, const Shape& shape) {
    std::vector<float>& v = values[name];
    for (std::int64_t i = 0; i < shape.elems(); ++i)
      v.push_back(weight(i + static_cast<std::int64_t>(values.size())));
    writer.add_tensor(name, {f32, shape}, std::as_bytes(std::span(v)));
  }
  Checkpoint file() {
    writer.write(path);
    return Checkpoint::open(path);
  }
};

const QuantizedTensor& of(const QuantizePlan& plan, std::string_view name) {
  return *std::ranges::find_if(plan.tensors,
                               [&](const QuantizedTensor& t) { return t.tensor->name == name; });
}

// Types that this build can write; the others are planned all the same.
QuantizeOptions writable() {
  QuantizeOptions options{.type = "Q8_0"};
  options.tensor_types = {{"attn_output", "F16"}, {"ffn_down", "Q4_K"}, {"blk.3.attn_v", "BF16"}};
  return options;
}

TEST_CASE("a mix decides by class and layer, and rows that do not fit get a substitute") {
  Sample sample;
  const Checkpoint file = sample.file();
  const QuantizePlan plan = plan_quantize(file, {.type = "q4_k_m"});
  CHECK(plan.file_type == 15);
  CHECK(of(plan, "token_embd.weight").to.name() == "Q4_K");
  CHECK(of(plan, "output.weight").to.name() == "Q6_K");
  CHECK(of(plan, "blk.0.attn_norm.weight").to == f32);
  CHECK(of(plan, "blk.0.ffn_gate_inp.weight").to == f32);
  // Eighths of 8 layers: 0 and 7; every third of the others: 3 and 6.
  for (int i = 0; i < 8; ++i) {
    const std::string blk = "blk." + std::to_string(i) + ".";
    const bool more = i == 0 || i == 7 || i == 3 || i == 6;
    CHECK(of(plan, blk + "attn_v.weight").to.name() == (more ? "Q6_K" : "Q4_K"));
    CHECK(of(plan, blk + "ffn_down.weight").to.name() == (more ? "Q6_K" : "Q4_K"));
  }
  CHECK(of(plan, "blk.0.attn_output.weight").to == f16);  // 48 is not a multiple of 32 either
  CHECK(of(plan, "blk.0.attn_output.weight").note ==
        "rows of 48 elements are not whole blocks of Q4_K");
  CHECK(plan.bytes_before == 4 * plan.n_weights);
}

TEST_CASE("the user's choice overrides the mix") {
  Sample sample;
  const Checkpoint file = sample.file();
  QuantizeOptions options{.type = "Q4_K_M"};
  options.tensor_types = {
      {"^blk\\.[01]\\.ffn_down", "q8_0"}, {"ffn", "Q6_K"}, {"norm|attn_v", "Q8_0"}};
  options.output_type = "Q8_0";
  options.embedding_type = "F16";
  QuantizePlan plan = plan_quantize(file, options);
  CHECK(of(plan, "blk.1.ffn_down.weight").to.name() == "Q8_0");
  CHECK(of(plan, "blk.2.ffn_down.weight").to.name() == "Q6_K");
  CHECK(of(plan, "blk.2.attn_v.weight").to.name() == "Q8_0");
  CHECK(of(plan, "blk.2.attn_norm.weight").to == f32);
  CHECK(of(plan, "blk.2.ffn_gate_inp.weight").to == f32);
  CHECK(of(plan, "output.weight").to.name() == "Q8_0");
  CHECK(of(plan, "token_embd.weight").to == f16);
  plan = plan_quantize(file, {.type = "Q4_K_M", .pure = true, .leave_output = true});
  CHECK(of(plan, "blk.0.attn_v.weight").to.name() == "Q4_K");
  CHECK(of(plan, "output.weight").to == f32);
  CHECK(plan_quantize(file, {.type = "COPY"}).bytes_after == plan.bytes_before);
}

TEST_CASE("impossible requests are rejected by name") {
  Sample sample;
  const Checkpoint file = sample.file();
  CHECK_THROWS_WITH_AS(plan_quantize(file, {.type = "Q4"}),
                       doctest::Contains("unknown type 'Q4' (known: Q1_0"), ValueError);
  CHECK_THROWS_WITH_AS(check({.type = "Q8_0", .tensor_types = {{"(", "Q8_0"}}}),
                       doctest::Contains("not a usable regular expression: pattern '('"),
                       ValueError);
  CHECK_THROWS_WITH_AS(check({.type = "Q8_0", .tensor_types = {{"(a)\\1", "Q8_0"}}}),
                       doctest::Contains("not a usable regular expression"), ValueError);
  CHECK_THROWS_WITH_AS(check({.type = "Q8_0", .tensor_types = {{"a", "Q9"}}}),
                       doctest::Contains("unknown tensor type 'Q9' (known: F32"), ValueError);
  CHECK_THROWS_WITH_AS(
      plan_quantize(file, {.type = "Q8_0"}),
      doctest::Contains("rows of 48 elements are not whole blocks of Q8_0 (32 each)"), ShapeError);
  const QuantizePlan kept = plan_quantize(file, {.type = "Q8_0", .keep_others = true});
  CHECK_FALSE(of(kept, "blk.0.attn_output.weight").converts());
  CHECK(of(kept, "blk.0.ffn_down.weight").converts());
  QuantizeOptions options = writable();
  quantize_file(file, plan_quantize(file, options), options, {}, sample.out);
  const Checkpoint once = Checkpoint::open(sample.out);
  options.tensor_types = {{"attn_v|ffn", "Q8_0"}, {"attn_output", "F16"}};
  const QuantizePlan plan = plan_quantize(once, options);
  CHECK(of(plan, "blk.0.attn_v.weight").obstacle == "");  // Q8_0 stays
  CHECK_THROWS_WITH_AS(quantize_file(once, plan, options, {}, sample.folder / "twice.gguf"),
                       doctest::Contains("tensor 'blk.0.ffn_down.weight' cannot become Q8_0: it is "
                                         "already Q4_K"),
                       UnsupportedError);
  options.allow_requantize = true;
  CHECK(of(plan_quantize(once, options), "blk.0.ffn_down.weight").obstacle == "");
  CHECK_THROWS_WITH_AS(quantize_file(file, plan_quantize(file, options), options, {}, sample.path),
                       doctest::Contains("must not be a file of the input"), ValueError);
}

TEST_CASE("tensors equal the encoders' output for any number of workers, and metadata is kept") {
  Sample sample;
  const Checkpoint file = sample.file();
  const QuantizeOptions options = writable();
  const QuantizePlan plan = plan_quantize(file, options);
  std::size_t finished = 0;
  double share = 0;
  bool grows = true;
  quantize_file(file, plan, options,
                {.workers = 1,
                 .progress =
                     [&](double s) {
                       grows &= s >= share;
                       share = s;
                       return true;
                     },
                 .finished = [&](const QuantizedTensor&) { ++finished; }},
                sample.out);
  CHECK(share == doctest::Approx(1));
  CHECK(grows);
  CHECK(finished == plan.tensors.size());
  const auto bytes = test::read_bytes(sample.out);
  for (const int workers : {2, 5}) {
    quantize_file(file, plan, options, {.workers = workers}, sample.out);
    CHECK(test::read_bytes(sample.out) == bytes);
  }
  const Checkpoint out = Checkpoint::open(sample.out);
  CHECK(out.find_uint("general.file_type") == 7);
  CHECK(out.find_uint("general.quantization_version") == 2);
  CHECK(out.find("split.count") == nullptr);
  CHECK(out.find_uint("llama.block_count") == 8);
  for (const CheckpointTensor& tensor : out.tensors()) {
    const std::vector<float>& values = sample.values[std::string(tensor.name)];
    std::vector<std::byte> expected(static_cast<std::size_t>(tensor.n_bytes));
    find_format(tensor.spec.dtype)->encode(values.data(), expected.data(), std::ssize(values));
    CHECK(std::ranges::equal(expected, std::span(tensor.data, expected.size())));
    CHECK(tensor.spec.dtype == of(plan, tensor.name).to);
  }
}

TEST_CASE("importances weigh errors per expert, and those of another model are rejected") {
  Sample sample;
  const Checkpoint file = sample.file();
  Imatrix imatrix;
  imatrix.source = "m.imatrix";
  imatrix.chunk_count = 3;
  imatrix.datasets = {"text"};
  imatrix.entries["blk.1.ffn_up_exps.weight"] = {std::vector<float>(3 * 256, 1.0f), {4, 4, 4}};
  for (std::size_t i = 0; i < 3 * 256; ++i) {
    const std::size_t expert = i / 256;
    imatrix.entries["blk.1.ffn_up_exps.weight"].sums[i] = static_cast<float>(1 + i % 97 * expert);
  }
  QuantizeOptions options = writable();
  options.tensor_types.insert(options.tensor_types.begin(), {"ffn_up_exps", "Q4_K"});
  options.imatrix = &imatrix;
  const QuantizePlan plan = plan_quantize(file, options);
  CHECK(of(plan, "blk.1.ffn_up_exps.weight").weighted);
  CHECK_FALSE(of(plan, "blk.2.ffn_up_exps.weight").weighted);
  quantize_file(file, plan, options, {.workers = 2}, sample.out);
  const Checkpoint out = Checkpoint::open(sample.out);
  CHECK(out.find_string("quantize.imatrix.file") == "m.imatrix");
  CHECK(out.find_string("quantize.imatrix.dataset") == "text");
  CHECK(out.find_uint("quantize.imatrix.entries_count") == 1);
  CHECK(out.find_uint("quantize.imatrix.chunks_count") == 3);

  const CheckpointTensor& tensor = *out.find_tensor("blk.1.ffn_up_exps.weight");
  const Format& format = *find_format(tensor.spec.dtype);
  const std::vector<float> means = imatrix.importances(tensor.name, 256, 3);
  const std::vector<float>& values = sample.values[std::string(tensor.name)];
  std::vector<std::byte> row(static_cast<std::size_t>(tensor.spec.dtype.bytes(256)));
  for (std::size_t r = 0; r < 48; ++r) {
    if (format.encode_weighted) {
      format.encode_weighted(&values[r * 256], &means[r / 16 * 256], row.data(), 256);
    } else {
      format.encode(&values[r * 256], row.data(), 256);
    }
    CHECK(std::ranges::equal(row, std::span(tensor.data + r * row.size(), row.size())));
  }

  imatrix.entries["blk.1.ffn_down.weight"] = {std::vector<float>(256, 1.0f), {4}};
  CHECK_THROWS_AS(plan_quantize(file, options), ValueError);
  imatrix.entries.clear();
  imatrix.entries["model.0.weight"] = {std::vector<float>(256, 1.0f), {4}};
  CHECK_THROWS_WITH_AS(plan_quantize(file, options), doctest::Contains("another model"),
                       ValueError);
}

TEST_CASE("low-bit types need importances, except for the output matrix") {
  Sample sample;
  const Checkpoint file = sample.file();
  QuantizeOptions options{.type = "IQ2_XXS"};
  if (find_format_by_name("IQ2_XXS") == nullptr) {
    CHECK(of(plan_quantize(file, options), "blk.5.ffn_down.weight").obstacle ==
          "cannot write weights in IQ2_XXS");
    return;
  }
  CHECK(of(plan_quantize(file, options), "blk.5.ffn_down.weight").obstacle ==
        "IQ2_XXS needs an importance matrix");
  options.tensor_types = {{"^output", "IQ2_XS"}};
  if (find_format_by_name("IQ2_XS")->encode != nullptr)
    CHECK(of(plan_quantize(file, options), "output.weight").obstacle == "");
}

TEST_CASE("weights that are not finite are named, or become 0") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const char* name : {"blk.3.ffn_down.weight", "blk.4.attn_norm.weight"}) {
      Sample sample;
      sample.values[name][130] = bad;
      const Checkpoint file = sample.file();
      QuantizeOptions options = writable();
      CHECK_THROWS_WITH_AS(
          quantize_file(file, plan_quantize(file, options), options, {.workers = 2}, sample.out),
          doctest::Contains(
              fmt::format("tensor '{}' holds {} at element 130 (row 0, column 130)", name, bad)
                  .c_str()),
          FormatError);
      CHECK_FALSE(fs::exists(sample.out));
      options.nonfinite_to_zero = true;
      quantize_file(file, plan_quantize(file, options), options, {.workers = 2}, sample.out);
      const Checkpoint out = Checkpoint::open(sample.out);
      const CheckpointTensor& tensor = *out.find_tensor(name);
      std::vector<float> back(sample.values[name].size());
      find_format(tensor.spec.dtype)->decode(tensor.data, back.data(), std::ssize(back));
      CHECK(std::fabs(back[130]) < 0.1f);
      CHECK(std::ranges::all_of(back, [](float v) { return std::isfinite(v); }));
    }
  }
  Sample sample;
  sample.values["blk.3.attn_output.weight"][700] = 65520;
  const Checkpoint file = sample.file();
  const QuantizeOptions options = writable();
  CHECK_THROWS_WITH_AS(quantize_file(file, plan_quantize(file, options), options, {}, sample.out),
                       doctest::Contains("holds 65520 at element 700 (row 14, column 28), which is "
                                         "too large for F16"),
                       FormatError);
}

TEST_CASE("stopping leaves no files") {
  Sample sample;
  const Checkpoint file = sample.file();
  const QuantizeOptions options = writable();
  CHECK_THROWS_AS(
      quantize_file(file, plan_quantize(file, options), options,
                    {.workers = 2, .progress = [](double s) { return s < 0.5; }}, sample.out),
      CancelledError);
  CHECK(std::distance(fs::directory_iterator(sample.folder.path()), {}) == 1);
}

TEST_CASE("every half float is decoded as its codec defines") {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t h = 0; h < 65536; ++h) {
    if ((h & 0x7c00) != 0x7c00) halves.push_back(static_cast<std::uint16_t>(h));
  }
  const auto n = std::ssize(halves);
  std::vector<float> out(halves.size());
  quantize::RowConverter rows;
  const auto bytes = std::as_bytes(std::span(halves));
  CHECK_FALSE(rows.convert(*find_format(f16), *find_format(f32), bytes.data(),
                           std::as_writable_bytes(std::span(out)).data(), 1, n, nullptr, false)
                  .found());
  bool same = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    same &=
        std::bit_cast<std::uint32_t>(out[i]) == std::bit_cast<std::uint32_t>(f16_to_f32(halves[i]));
  }
  CHECK(same);
  for (const std::uint16_t h : {0x7c00, 0xfc00, 0x7e01, 0x7c01}) {
    halves[1000] = h;
    const quantize::BadWeight bad = quantize::find_nonfinite(*find_format(f16), bytes.data(), n);
    CHECK(bad.index == 1000);
    CHECK(std::isnan(bad.value) == std::isnan(f16_to_f32(h)));
  }
}

TEST_CASE("names of tensors") {
  using namespace quantize;
  CHECK(class_of("blk.3.attn_qkv.weight") == TensorClass::attn_v);
  CHECK(class_of("blk.3.ffn_down_exps.weight") == TensorClass::ffn_down);
  CHECK(class_of("blk.3.ssm_in.weight") == TensorClass::other);
  CHECK(fitting_type(find_type("iq4_xs"), 96).name() == "IQ4_NL");
  CHECK(fitting_type(find_type("Q3_K"), 40) == f16);
  CHECK_FALSE(fitting_type(find_type("Q4_1"), 40).valid());
}

}  // namespace
}  // namespace weft
