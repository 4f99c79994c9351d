// Every architecture with keys and tensors that do not fit: a graph, or an error of one line that
// names the file, and neither a crash nor a huge allocation.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "weft/base/error.h"

#include "support/made_source.h"

namespace weft::test {

using namespace arch;
namespace {

using Value = MadeSource::Value;

constexpr std::int64_t kMaxResidentMib =
    128;                    // that one architecture may add; ASan keeps freed memory
constexpr int kRuns = 300;  // for each architecture

// A source that remembers which keys are read.
class Listening final : public ModelSource {
 public:
  explicit Listening(const MadeSource& source) : source_(source) {}
  const std::set<std::string>& keys() const { return keys_; }

  std::string_view file() const override { return source_.file(); }
  std::optional<std::uint64_t> find_uint(std::string_view key) const override {
    return source_.find_uint(heard(key));
  }
  std::optional<double> find_float(std::string_view key) const override {
    return source_.find_float(heard(key));
  }
  std::optional<bool> find_bool(std::string_view key) const override {
    return source_.find_bool(heard(key));
  }
  std::optional<std::string_view> find_string(std::string_view key) const override {
    return source_.find_string(heard(key));
  }
  std::vector<std::int64_t> find_ints(std::string_view key) const override {
    return source_.find_ints(heard(key));
  }
  std::vector<float> find_floats(std::string_view key) const override {
    return source_.find_floats(heard(key));
  }
  std::int64_t array_size(std::string_view key) const override {
    return source_.array_size(heard(key));
  }
  const TensorSpec* find_tensor(std::string_view name) const override {
    return source_.find_tensor(name);
  }
  std::vector<std::string_view> tensor_names() const override { return source_.tensor_names(); }

 private:
  std::string_view heard(std::string_view key) const {
    keys_.insert(std::string(key));
    return key;
  }
  const MadeSource& source_;
  mutable std::set<std::string> keys_;
};

void build(const ModelSource& source, const Architecture& architecture) {
  const Config c = configure(source, architecture);
  GraphOptions options{.tokens = 8, .logits_rows = 2, .sequences = 2, .context = 100};
  check(build_graph(source, architecture, *c, options));
  if (architecture.encode) {
    options.part = GraphPart::encoder;
    check(build_graph(source, architecture, *c, options));
  }
  if (has_draft_layers(source, architecture, *c)) {
    options.part = GraphPart::draft;
    check(build_graph(source, architecture, *c, options));
  }
}

// What was changed, and how.
class Changes {
 public:
  Changes(MadeSource& source, const std::set<std::string>& keys, std::mt19937& random)
      : source_(source), keys_(keys.begin(), keys.end()), random_(random) {}

  void change() {
    switch (draw(5)) {
      case 0:
        return change_tensor();
      case 1:
        change_key();
        return change_key();
      default:
        return change_key();
    }
  }
  std::string text() const { return text_.str(); }

 private:
  std::size_t draw(std::size_t n) { return random_() % n; }

  void change_key() {
    const std::string& key = keys_[draw(keys_.size())];
    text_ << key << " = ";
    if (draw(8) == 0) {
      text_ << "absent; ";
      source_.keys.erase(key);
    } else {
      source_.keys[key] = draw_value();
      std::visit([&](const auto& value) { write(value); }, source_.keys[key]);
      text_ << "; ";
    }
  }

  Value draw_value() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    const std::int64_t numbers[] = {0,     1,         2,         3,          4,    5,       7,
                                    -1,    32,        64,        100,        kMax, 1 << 20, 2047,
                                    65536, INT32_MAX, INT32_MIN, UINT32_MAX, -kMax};
    const double reals[] = {0, -0.0, 1, -1, 0.5, 1e-30, 1e30, 1e300, HUGE_VAL, std::nan("")};
    const std::size_t sizes[] = {0, 1, 2, 3, 4, 5, 64, 5000};
    switch (draw(9)) {
      case 0:
        return reals[draw(std::size(reals))];
      case 1:
        return draw(2) == 1;
      case 2:
        return std::string(draw(2) ? "" : "yarn");
      case 3:
      case 4: {
        std::vector<std::int64_t> list(sizes[draw(std::size(sizes))]);
        const std::int64_t all = numbers[draw(std::size(numbers))];
        const bool same = draw(2) == 1;
        for (auto& x : list) x = same ? all : numbers[draw(std::size(numbers))];
        return list;
      }
      default:
        return numbers[draw(std::size(numbers))];
    }
  }

  void change_tensor() {
    if (source_.tensors().empty()) return;
    const MadeSource::Tensor tensor = source_.tensors()[draw(source_.tensors().size())];
    text_ << tensor.name << ": " << to_string(tensor.spec);
    switch (draw(4)) {
      case 0:
        text_ << " absent; ";
        return source_.remove(tensor.name);
      case 1:
        text_ << " twice; ";
        return source_.add(tensor.name + "2", tensor.spec);
      default:
        const TensorSpec spec{draw(4) ? tensor.spec.dtype : i32, draw_shape(tensor.spec.shape)};
        text_ << " as " << to_string(spec) << "; ";
        return source_.add(tensor.name, spec);
    }
  }

  Shape draw_shape(const Shape& shape) {
    std::vector<Dim> dims(shape.begin(), shape.end());
    if (dims.empty() || (dims.size() < 4 && draw(4) == 0)) dims.emplace_back(1);
    if (dims.size() > 1 && draw(4) == 0) dims.pop_back();
    Dim& dim = dims[draw(dims.size())];
    const std::int64_t sizes[] = {0, 1, 2, dim.bound + 1, dim.bound * 2, dim.bound / 2, 1LL << 40};
    dim = sizes[draw(std::size(sizes))];
    return Shape(dims);
  }

  void write(const auto& value) { text_ << value; }
  void write(const std::vector<std::int64_t>& list) {
    text_ << list.size() << " numbers";
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 5); ++i) text_ << ' ' << list[i];
  }

  MadeSource& source_;
  std::vector<std::string> keys_;
  std::mt19937& random_;
  std::ostringstream text_;
};

std::int64_t resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void check_one(const MadeSource& good, const std::set<std::string>& keys,
               const Architecture& architecture, std::mt19937& random) {
  MadeSource source = good;
  Changes changes(source, keys, random);
  changes.change();
  CAPTURE(changes.text());
  try {
    build(source, architecture);
  } catch (const Error& e) {
    const std::string message = e.what();
    CAPTURE(message);
    CHECK(message.find("bad.gguf") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 1000);
  } catch (const std::exception& e) {
    FAIL_CHECK("not a weft::Error: " << e.what());
  }
}

}  // namespace

TEST_CASE("wrong keys and tensors are refused with a message for every architecture") {
  std::mt19937 random(1);
  for (const Architecture* architecture : architectures()) {
    CAPTURE(architecture->name);
    MadeSource good(std::string(architecture->name), {.draft_layers = architecture->draft ? 1 : 0});
    good.path = "bad.gguf";
    try {
      good.learn(*architecture);
    } catch (const FormatError& e) {
      FAIL_CHECK("add what it needs to kMadeUp in made_source.cpp: " << e.what());
      continue;
    }
    const Listening listening(good);
    build(listening, *architecture);
    std::set<std::string> keys = listening.keys();
    keys.erase("general.architecture");
    const std::int64_t before = resident_mib();
    for (int i = 0; i < kRuns; ++i) check_one(good, keys, *architecture, random);
    CHECK(resident_mib() - before < kMaxResidentMib);
  }
}

}  // namespace weft::test
