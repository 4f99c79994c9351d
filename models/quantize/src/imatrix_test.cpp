#include "weft/quantize/imatrix.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"

#include "support/temp_folder.h"

namespace weft {
namespace {

Imatrix sample() {
  Imatrix m;
  m.entries["blk.0.attn_q.weight"] = {.sums = {2, 0, 6, 1}, .counts = {4}};
  m.entries["blk.0.ffn_up_exps.weight"] = {.sums = {2, 4, 9, 9, 3, 6}, .counts = {2, 0, 3}};
  m.datasets = {"some.txt", "more.txt"};
  m.chunk_count = 7;
  m.chunk_size = 512;
  return m;
}

// The binary form, put together by hand.
class Bytes {
 public:
  Bytes& number(std::int32_t value) { return append(&value, sizeof value); }
  Bytes& real(float value) { return append(&value, sizeof value); }
  Bytes& text(std::string_view s) {
    number(static_cast<std::int32_t>(s.size()));
    return append(s.data(), s.size());
  }
  std::span<const std::byte> get() const { return bytes_; }

 private:
  Bytes& append(const void* data, std::size_t n) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
    return *this;
  }
  std::vector<std::byte> bytes_;
};

Bytes binary(std::int32_t n_calls = 2) {
  Bytes b;
  return b.number(1).text("a.weight").number(n_calls).number(3).real(2).real(4).real(0);
}

GgufWriter header(std::string_view type = "imatrix") {
  GgufWriter w;
  w.add_string("general.type", type);
  w.add_u32("imatrix.chunk_count", 1);
  w.add_u32("imatrix.chunk_size", 8);
  return w;
}

void add_floats(GgufWriter& w, const std::string& name, Shape shape,
                const std::vector<float>& values) {
  w.add_tensor(name, {f32, shape},
               [values](const GgufWriter::Put& put) { put(std::as_bytes(std::span(values))); });
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    Imatrix::parse(bytes, "F");
  } catch (const FormatError& e) {
    return e.what();
  }
  return "";
}

std::string refusal(const GgufWriter& w) {
  return refusal(std::span<const std::byte>(w.to_bytes()));
}

TEST_CASE("an importance matrix is read as it was written") {
  const test::TempFolder folder;
  const std::string path = folder / "m.gguf";
  sample().write(path);
  const Imatrix m = Imatrix::read(path);
  CHECK(m.source == path);
  CHECK(m.datasets == sample().datasets);
  CHECK(m.chunk_count == 7);
  CHECK(m.chunk_size == 512);
  REQUIRE(m.entries.size() == 2);
  for (const auto& [name, entry] : sample().entries) {
    CHECK(m.entries.at(name).sums == entry.sums);
    CHECK(m.entries.at(name).counts == entry.counts);
  }
  CHECK(m.to_bytes() == sample().to_bytes());
}

TEST_CASE("the file has the names and dimensions that others expect") {
  const std::vector<std::byte> bytes = sample().to_bytes();
  const Checkpoint file = Checkpoint::parse(bytes, "m");
  CHECK(file.find_string("general.type") == "imatrix");
  CHECK(file.find_strings("imatrix.datasets")->size() == 2);
  CHECK(file.find("imatrix.chunk_count")->type == MetaType::uint32);
  CHECK(file.find("imatrix.chunk_size")->type == MetaType::uint32);
  CHECK(to_string(file.find_tensor("blk.0.ffn_up_exps.weight.in_sum2")->spec) == "F32 [3, 2]");
  CHECK(to_string(file.find_tensor("blk.0.ffn_up_exps.weight.counts")->spec) == "F32 [3, 1]");
  CHECK(to_string(file.find_tensor("blk.0.attn_q.weight.in_sum2")->spec) == "F32 [1, 4]");
}

TEST_CASE("importances are means, or 1 without data") {
  const Imatrix m = sample();
  CHECK(m.importances("blk.0.attn_q.weight", 4) == std::vector<float>{0.5f, 0, 1.5f, 0.25f});
  CHECK(m.importances("blk.0.ffn_up_exps.weight", 2, 3) == std::vector<float>{1, 2, 1, 1, 1, 2});
  // One count for all experts.
  CHECK(m.importances("blk.0.attn_q.weight", 2, 2) == std::vector<float>{0.5f, 0, 1.5f, 0.25f});
  CHECK(m.importances("blk.9.attn_q.weight", 4).empty());
}

TEST_CASE("an importance matrix of another model is rejected by name and length") {
  CHECK_THROWS_WITH_AS(sample().importances("blk.0.attn_q.weight", 8),
                       "the importance matrix: 'blk.0.attn_q.weight' has 4 values and 1 counts, "
                       "expected 8 columns x 1 experts: is it of another model?",
                       ValueError);
  CHECK_THROWS_AS(sample().importances("blk.0.ffn_up_exps.weight", 3, 2), ValueError);
  CHECK_THROWS_AS(sample().importances("blk.0.ffn_up_exps.weight", 6), ValueError);
}

TEST_CASE("the binary form gives the same means") {
  const Imatrix m = Imatrix::parse(binary().get(), "old");
  CHECK(m.chunk_size == 0);
  CHECK(m.datasets.empty());
  CHECK(m.importances("a.weight", 3) == std::vector<float>{1, 2, 0});
  const Imatrix with_end = Imatrix::parse(binary().number(5).text("text").get(), "old");
  CHECK(with_end.chunk_count == 5);
  CHECK(with_end.datasets == std::vector<std::string>{"text"});
  // No calls: the values are the means.
  CHECK(Imatrix::parse(binary(0).get(), "old").importances("a.weight", 3) ==
        std::vector<float>{2, 4, 0});
}

TEST_CASE("adding sums squares, rows and names of texts") {
  Imatrix m = sample();
  m.add(sample());
  CHECK(m.entries.at("blk.0.attn_q.weight").sums == std::vector<float>{4, 0, 12, 2});
  CHECK(m.entries.at("blk.0.attn_q.weight").counts == std::vector<std::int64_t>{8});
  CHECK(m.entries.at("blk.0.ffn_up_exps.weight").counts == std::vector<std::int64_t>{4, 0, 6});
  CHECK(m.chunk_count == 14);
  CHECK(m.datasets.size() == 4);

  Imatrix fresh;
  fresh.chunk_size = 10;
  fresh.add(Imatrix::parse(binary().get(), "old"));
  CHECK(fresh.entries.at("a.weight").sums == std::vector<float>{20, 40, 0});
  CHECK(fresh.entries.at("a.weight").counts == std::vector<std::int64_t>{20});

  Imatrix other = sample();
  other.entries["blk.0.attn_q.weight"].sums.resize(5);
  CHECK_THROWS_AS(m.add(other), ValueError);
  CHECK(m.chunk_count == 14);
  Imatrix calls = Imatrix::parse(binary().get(), "old");
  CHECK_THROWS_AS(calls.add(sample()), ValueError);
  CHECK_THROWS_AS(calls.to_bytes(), ValueError);
}

TEST_CASE("GGUF files that are inconsistent or not importance matrices are rejected") {
  CHECK(refusal(header("model")) ==
        "F: not an importance matrix: key 'general.type' must be 'imatrix', got 'model'");
  CHECK(refusal(header()) == "F: an importance matrix without entries: no tensor NAME.in_sum2");
  GgufWriter w = header();
  add_floats(w, "a.in_sum2", {1, 2}, {1, 2});
  CHECK(refusal(w) == "F: tensor 'a.in_sum2' exists without 'a.counts'");
  add_floats(w, "a.counts", {3, 1}, {1, 2, 3});
  CHECK(refusal(w) ==
        "F: tensor 'a.in_sum2' has 2 values, which is not a multiple of the 3 of 'a.counts'");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {-1.0f, kNan, std::numeric_limits<float>::infinity()}) {
    GgufWriter v = header();
    add_floats(v, "a.in_sum2", {1, 2}, {1, bad});
    add_floats(v, "a.counts", {1, 1}, {1});
    CHECK(refusal(v).starts_with("F: tensor 'a.in_sum2': value 1 must be from 0 to "));
  }
  GgufWriter v = header();
  add_floats(v, "a.in_sum2", {1, 1}, {1});
  add_floats(v, "a.counts", {1, 1}, {1e30f});
  CHECK(refusal(v).starts_with("F: tensor 'a.counts': value 0 must be from 0 to "));
  GgufWriter h = header();
  const std::vector<std::byte> half(4);
  h.add_tensor("a.in_sum2", {f16, {1, 2}}, half);
  add_floats(h, "a.counts", {1, 1}, {1});
  CHECK(refusal(h) == "F: tensor 'a.in_sum2' must have type F32, got F16");
  GgufWriter bare;
  bare.add_string("general.type", "imatrix");
  CHECK(refusal(bare) == "F: key 'imatrix.chunk_count' is missing");
}

TEST_CASE("inconsistent binary files are rejected") {
  CHECK(refusal(std::span<const std::byte>()).find("number of entries") != std::string::npos);
  CHECK(refusal(Bytes().number(0).get()).find("number of entries must be from 1") !=
        std::string::npos);
  CHECK(refusal(Bytes().number(INT32_MAX).get()).find("entries: expected 2147483647 x") !=
        std::string::npos);
  const auto tail = [](Bytes b) { return b.number(1).number(1).real(1).real(1); };
  CHECK(refusal(tail(Bytes().number(1).text(std::string(65, 'x'))).get())
            .find("length of the name must be from 1 to 64, got 65") != std::string::npos);
  CHECK(refusal(Bytes().number(1).text("a").number(-1).number(1).real(1).get())
            .find("entry 'a': number of calls must be from 0") != std::string::npos);
  CHECK(refusal(Bytes().number(1).text("a").number(1).number(1 << 30).real(1).get())
            .find("entry 'a': values: expected 1073741824 x 4 bytes, but 4 are left") !=
        std::string::npos);
  CHECK(refusal(Bytes().number(1).text("a").number(1).number(1).real(-1).get())
            .find("tensor 'a': value 0 must be from 0 to") != std::string::npos);
  Bytes twice = Bytes().number(2);
  for (int i = 0; i < 2; ++i) twice.text("a").number(1).number(1).real(1);
  CHECK(refusal(twice.get()).find("entry 'a': appears twice") != std::string::npos);
  CHECK(refusal(binary().number(5).text("x").number(1).get()).find("4 bytes follow the end") !=
        std::string::npos);
}

}  // namespace
}  // namespace weft
