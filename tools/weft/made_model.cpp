#include "made_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/quantize/quantize.h"

namespace weft::tools {
namespace {

// Those of stories15M, TinyLlama 1.1B, Mistral 7B and Llama 3 8B, and one of 9e9 parameters.
const MadeShape kShapes[] = {
    {.name = "15m", .D = 288, .F = 768, .L = 6, .H = 6, .G = 6, .V = 32000, .tied = true},
    {.name = "1.1b", .D = 2048, .F = 5632, .L = 22, .H = 32, .G = 4, .V = 32000},
    {.name = "7b", .D = 4096, .F = 14336, .L = 32, .H = 32, .G = 8, .V = 32000},
    {.name = "8b", .D = 4096, .F = 14336, .L = 32, .H = 32, .G = 8, .V = 128256},
    {.name = "9b", .D = 3584, .F = 14336, .L = 42, .H = 32, .G = 8, .V = 128256, .E = 128},
};

constexpr std::uint32_t kContext = 131072;

// Sizes up to `most`: with these no count of parameters or bytes leaves 64 bits.
struct Letter {
  std::string_view name;
  std::int64_t MadeShape::*member;
  std::int64_t most;
};
constexpr Letter kLetters[] = {{"D", &MadeShape::D, 1 << 17}, {"F", &MadeShape::F, 1 << 20},
                               {"L", &MadeShape::L, 1 << 10}, {"H", &MadeShape::H, 1 << 12},
                               {"G", &MadeShape::G, 1 << 12}, {"V", &MadeShape::V, 1 << 20},
                               {"E", &MadeShape::E, 1 << 12}};

void put_letter(MadeShape& shape, std::string_view part) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view name = part.substr(0, equals);
  const std::string_view number = part.substr(std::min(equals + 1, part.size()));
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const auto* letter = std::ranges::find(kLetters, name, &Letter::name);
  const bool known = name == "tied" || letter != std::end(kLetters);
  const bool whole = !number.empty() && error == std::errc() && stop == number.end();
  const std::int64_t least = name == "tied" ? 0 : 1;
  const std::int64_t most = name == "tied" ? 1 : known ? letter->most : 0;
  if (!known || !whole || value < least || value > most) {
    std::string letters;
    for (const Letter& l : kLetters) letters += fmt::format(" {} to {},", l.name, l.most);
    fail<ValueError>(
        "'{}' is neither one of the shapes 15m, 1.1b, 7b, 8b, 9b nor a letter with a number from 1 "
        "on, as in D=512:{} or tied=1",
        printable(part), letters);
  }
  if (name == "tied") {
    shape.tied = value != 0;
  } else {
    shape.*(letter->member) = value;
  }
}

void check_shape(const MadeShape& s) {
  for (const Letter& letter : kLetters) {
    if (s.*letter.member == 0) fail<ValueError>("shape '{}' lacks {}=", s.name, letter.name);
  }
  if (s.H % s.G != 0) fail<ValueError>("shape '{}': G must divide H", s.name);
  if (s.E % 2 != 0) fail<ValueError>("shape '{}': heads of {} are odd", s.name, s.E);
}

// The same sequence everywhere; which tensor it is for makes the start.
class Random {
 public:
  explicit Random(std::string_view name) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  // SplitMix64. Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Close to normal, of variance 1: the sum of four uniform numbers.
  float normal() {
    const std::uint64_t bits = next();
    std::uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += (bits >> (16 * i)) & 0xffff;
    return (static_cast<float>(sum) / 65536 - 2) * std::sqrt(3.0f);
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

constexpr std::int64_t kPiece = 256;    // weights; a multiple of every block
constexpr std::int64_t kPieces = 2048;  // of a stock
using Stock = std::vector<std::byte>;

// Encoded weights of one type and deviation. Tensors are drawn from it piece by piece, which is as
// fast as the file is written, in every format alike.
Stock make_stock(const Format& format, double deviation) {
  Random random("stock");
  std::vector<float> values(kPiece * kPieces);
  for (float& v : values) v = random.normal() * static_cast<float>(deviation);
  Stock stock(static_cast<std::size_t>(format.dtype.bytes(kPiece * kPieces)));
  if (format.encode) {
    format.encode(values.data(), stock.data(), kPiece * kPieces);
  } else {  // it wants to know which columns matter: here they are alike
    const std::vector<float> alike(values.size(), 1.0f);
    format.encode_weighted(values.data(), alike.data(), stock.data(), kPiece * kPieces);
  }
  return stock;
}

void produce(const std::string& name, DType dtype, std::int64_t n_elems, const Stock& stock,
             const GgufWriter::Put& put) {
  Random random(name);
  const std::span<const std::byte> all(stock);
  for (std::int64_t done = 0; done < n_elems; done += kPiece) {
    const std::int64_t n = std::min(kPiece, n_elems - done);
    const auto piece = static_cast<std::int64_t>(random.next() >> 32) % kPieces;
    put(all.subspan(static_cast<std::size_t>(dtype.bytes(kPiece) * piece),
                    static_cast<std::size_t>(dtype.bytes(n))));
  }
}

struct TypeChoice {
  std::string name;  // upper case
  std::uint32_t file_type;
  const Format* common;
  const Format* better;  // of the output matrix and some of attn_v and ffn_down
};

// Types of the matrices of a file of this name: of a type, or the one mix that is known here.
TypeChoice choose_type(std::string_view text) {
  std::string name(text);
  for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (name == "Q4_K_M") return {name, 15, find_format(q4_k), find_format(q6_k)};
  const Format* format = find_format_by_name(name);
  const auto file_type = file_type_of(name);
  if (format == nullptr || format->dtype.gguf_id() < 0 || !file_type ||
      (!format->encode && !format->encode_weighted)) {
    std::string names = "Q4_K_M";
    for (const Format* known : all_formats()) {
      if (known->dtype.gguf_id() >= 0 && file_type_of(known->dtype.name()))
        names += fmt::format(", {}", known->dtype.name());
    }
    fail<ValueError>("cannot make a model in type '{}' (known: {})", printable(text), names);
  }
  return {name, *file_type, format, format};
}

// Layers that the usual mix gives more bits: the first and the last eighth, and every third.
bool gets_more_bits(std::int64_t layer, std::int64_t n_layers) {
  const std::int64_t eighth = n_layers / 8;
  return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

class Maker {
 public:
  Maker(const MadeShape& shape, std::string_view type, std::function<bool(double)> progress)
      : s_(shape), type_(choose_type(type)), progress_(std::move(progress)) {}

  void write(const std::string& path) {
    describe();
    matrix("token_embd.weight", s_.V, s_.D, *type_.common);
    for (std::int64_t i = 0; i < s_.L; ++i) layer(i);
    norm("output_norm.weight");
    if (!s_.tied) matrix("output.weight", s_.V, s_.D, *type_.better);
    writer_.write(path);
  }

 private:
  void describe() {
    const auto u32 = [&](const char* key, std::int64_t value) {
      writer_.add_u32(key, static_cast<std::uint32_t>(value));
    };
    writer_.add_string("general.architecture", "llama");
    writer_.add_string("general.name", fmt::format("random weights, {}", s_.name));
    u32("general.file_type", type_.file_type);
    u32("general.quantization_version", 2);
    u32("llama.context_length", kContext);
    u32("llama.embedding_length", s_.D);
    u32("llama.feed_forward_length", s_.F);
    u32("llama.block_count", s_.L);
    u32("llama.attention.head_count", s_.H);
    u32("llama.attention.head_count_kv", s_.G);
    u32("llama.attention.key_length", s_.E);
    u32("llama.attention.value_length", s_.E);
    u32("llama.rope.dimension_count", s_.E);
    u32("llama.vocab_size", s_.V);
    writer_.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    writer_.add_f32("llama.rope.freq_base", 500000.0f);
    writer_.add_string("tokenizer.ggml.model", "no_vocab");
  }

  void layer(std::int64_t i) {
    const std::string blk = fmt::format("blk.{}.", i);
    const Format& more = gets_more_bits(i, s_.L) ? *type_.better : *type_.common;
    // What is added to the residual stream 2 L times keeps it at its size.
    const double residual = 1 / std::sqrt(2.0 * static_cast<double>(s_.L));
    norm(blk + "attn_norm.weight");
    matrix(blk + "attn_q.weight", s_.H * s_.E, s_.D, *type_.common);
    matrix(blk + "attn_k.weight", s_.G * s_.E, s_.D, *type_.common);
    matrix(blk + "attn_v.weight", s_.G * s_.E, s_.D, more);
    matrix(blk + "attn_output.weight", s_.D, s_.H * s_.E, *type_.common, residual);
    norm(blk + "ffn_norm.weight");
    matrix(blk + "ffn_gate.weight", s_.F, s_.D, *type_.common);
    matrix(blk + "ffn_up.weight", s_.F, s_.D, *type_.common);
    matrix(blk + "ffn_down.weight", s_.D, s_.F, more, residual);
  }

  void norm(const std::string& name) {
    ones_.resize(static_cast<std::size_t>(s_.D), 1.0f);
    writer_.add_tensor(name, {f32, {s_.D}}, std::as_bytes(std::span(ones_)));
  }

  void matrix(const std::string& name, std::int64_t rows, std::int64_t cols, const Format& format,
              double factor = 1) {
    const double deviation = factor / std::sqrt(static_cast<double>(cols));
    total_ += format.dtype.bytes(rows * cols);
    writer_.add_tensor(name, {format.dtype, {rows, cols}}, [=, this, &format](const auto& put) {
      Stock& stock = stocks_[{&format, deviation}];
      if (stock.empty()) stock = make_stock(format, deviation);
      produce(name, format.dtype, rows * cols, stock, [&](std::span<const std::byte> bytes) {
        put(bytes);
        count(std::ssize(bytes));
      });
    });
  }

  void count(std::int64_t n_bytes) {
    done_ += n_bytes;
    if (done_ - reported_ < total_ / 100 && done_ != total_) return;
    reported_ = done_;
    if (progress_ && !progress_(static_cast<double>(done_) / static_cast<double>(total_)))
      fail<CancelledError>("making the model was cancelled");
  }

  const MadeShape s_;
  const TypeChoice type_;
  const std::function<bool(double)> progress_;
  GgufWriter writer_;
  std::vector<float> ones_;
  std::map<std::pair<const Format*, double>, Stock> stocks_;
  std::int64_t total_ = 0, done_ = 0, reported_ = 0;
};

}  // namespace

std::int64_t MadeShape::parameters() const {
  const std::int64_t attention = 2 * D * H * E + 2 * D * G * E;
  return (tied ? 1 : 2) * V * D + L * (attention + 3 * D * F + 2 * D) + D;
}

MadeShape parse_shape(std::string_view text) {
  MadeShape shape;
  const auto* known = std::ranges::find(kShapes, text, &MadeShape::name);
  if (known != std::end(kShapes)) {
    shape = *known;
  } else {
    shape.name = text;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      put_letter(shape, text.substr(at, comma - at));
      at = comma + 1;
    }
  }
  if (shape.E == 0 && shape.H > 0) {
    if (shape.D % shape.H != 0)
      fail<ValueError>("shape '{}': H must divide D if E is not given", shape.name);
    shape.E = shape.D / shape.H;
  }
  check_shape(shape);
  return shape;
}

std::string known_shapes() {
  std::string text;
  for (const MadeShape& named : kShapes) {
    const MadeShape s = parse_shape(named.name);
    text += fmt::format("  {:<5} D={},F={},L={},H={},G={},V={},E={}{}  {:.2f}e9 parameters\n",
                        s.name, s.D, s.F, s.L, s.H, s.G, s.V, s.E, s.tied ? ",tied=1" : "",
                        static_cast<double>(s.parameters()) / 1e9);
  }
  return text;
}

void make_model(const MadeShape& shape, std::string_view type, const std::string& path,
                const std::function<bool(double)>& progress) {
  Maker(shape, type, progress).write(path);
}

}  // namespace weft::tools
