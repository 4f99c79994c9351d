#include "weft/files/made_model.h"

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/format.h"

namespace weft {
namespace {

constexpr std::int64_t kPiece = 256;    // weights; a multiple of every block
constexpr std::int64_t kPieces = 2048;  // pieces of the pool from which they are drawn

// The same numbers on every machine; seeded by the name.
std::mt19937 random_of(std::string_view name) {
  Fnv1a32 seed;
  seed.add(name);
  return std::mt19937(seed.value());
}

std::vector<float> uniform(std::string_view name, std::int64_t n, double center, double spread) {
  std::mt19937 random = random_of(name);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values)
    v = static_cast<float>(center + spread * (static_cast<double>(random()) / 0x7fffffff - 1));
  return values;
}

std::vector<std::byte> encoded(const std::vector<float>& values, DType type) {
  const Format* format = find_format(type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes(std::ssize(values))));
  if (format->encode) {
    format->encode(values.data(), bytes.data(), std::ssize(values));
  } else {  // requires importances: here all are equal
    const std::vector<float> alike(values.size(), 1.0f);
    format->encode_weighted(values.data(), alike.data(), bytes.data(), std::ssize(values));
  }
  return bytes;
}

// The range of weights in matrices whose rows have K elements.
double spread_of(std::int64_t K) {
  return 1.7 / std::sqrt(static_cast<double>(K));
}

class Maker {
 public:
  Maker(const arch::MadeSource& source, const MadeWeights& weights)
      : source_(source), about_(weights) {}

  void write(const std::string& path) {
    for (const auto& [key, value] : source_.keys) add_key(key, value);
    for (const arch::MadeSource::Tensor& tensor : source_.tensors()) {
      total_ += tensor.spec.bytes();
      writer_.add_tensor(tensor.name, tensor.spec, [this, &tensor](const GgufWriter::Put& put) {
        produce(tensor, [&](std::span<const std::byte> bytes) {
          put(bytes);
          count(std::ssize(bytes));
        });
      });
    }
    writer_.write(path);
  }

 private:
  static std::uint32_t u32(const std::string& key, std::int64_t value) {
    constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
    if (value >= 0 && value <= kMax) return static_cast<std::uint32_t>(value);
    fail<ValueError>("key '{}' must be 0 to {}, got {}", printable(key), kMax, value);
  }

  void add_key(const std::string& key, const arch::MadeSource::Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) writer_.add_string(key, *text);
    if (const auto* x = std::get_if<double>(&value)) writer_.add_f32(key, static_cast<float>(*x));
    if (const auto* flag = std::get_if<bool>(&value)) writer_.add_bool(key, *flag);
    if (const auto* n = std::get_if<std::int64_t>(&value)) writer_.add_u32(key, u32(key, *n));
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      std::vector<std::int32_t> numbers;
      for (const std::int64_t n : *list)
        numbers.push_back(
            static_cast<std::int32_t>(u32(key, std::min<std::int64_t>(n, INT32_MAX))));
      writer_.add_i32s(key, numbers);
    }
  }

  void produce(const arch::MadeSource::Tensor& tensor, const GgufWriter::Put& put) {
    const TensorSpec& spec = tensor.spec;
    const std::int64_t n = spec.shape.elems();
    if (spec.shape.n_dims() >= 2 && n > kPiece * kPieces) return draw(tensor, put);
    const bool vector = spec.shape.n_dims() < 2;
    const bool factor = vector && tensor.name.find("bias") == std::string::npos;
    std::vector<float> values =
        uniform(tensor.name, n, factor ? 1 : 0, vector ? 0.2 : spread_of(spec.shape.last()));
    if (tensor.name.ends_with(".ssm_a")) {
      for (float& v : values) v = -std::fabs(v);
    }
    if (about_.change) about_.change(tensor.name, values);
    put(encoded(values, spec.dtype));
  }

  // Writes random pieces of the pool.
  void draw(const arch::MadeSource::Tensor& tensor, const GgufWriter::Put& put) {
    const DType type = tensor.spec.dtype;
    const std::int64_t K = tensor.spec.shape.last();
    const std::span<const std::byte> all = stock(type, K);
    std::mt19937 random = random_of(tensor.name);
    for (std::int64_t left = tensor.spec.shape.elems(); left > 0; left -= kPiece) {
      const std::int64_t piece = random() % kPieces;
      put(all.subspan(static_cast<std::size_t>(type.bytes(kPiece) * piece),
                      static_cast<std::size_t>(type.bytes(std::min(kPiece, left)))));
    }
  }

  const std::vector<std::byte>& stock(DType type, std::int64_t K) {
    for (const auto& [about, bytes] : stocks_) {
      if (about == std::pair(type, K)) return bytes;
    }
    const auto values = uniform("stock", kPiece * kPieces, 0, spread_of(K));
    return stocks_.emplace_back(std::pair(type, K), encoded(values, type)).second;
  }

  void count(std::int64_t n_bytes) {
    done_ += n_bytes;
    if (done_ - reported_ < total_ / 100 && done_ != total_) return;
    reported_ = done_;
    if (about_.progress &&
        !about_.progress(static_cast<double>(done_) / static_cast<double>(total_)))
      fail<CancelledError>("writing the model was cancelled");
  }

  const arch::MadeSource& source_;
  const MadeWeights& about_;
  GgufWriter writer_;
  std::vector<std::pair<std::pair<DType, std::int64_t>, std::vector<std::byte>>> stocks_;
  std::int64_t total_ = 0, done_ = 0, reported_ = 0;
};

}  // namespace

void write_made_model(const arch::MadeSource& source, const std::string& path,
                      const MadeWeights& weights) {
  Maker(source, weights).write(path);
}

}  // namespace weft
