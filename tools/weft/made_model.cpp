#include "made_model.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/made_model.h"
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

constexpr std::int64_t kContext = 131072;

// Sizes up to `max`: with these no count of parameters or bytes leaves 64 bits.
struct Letter {
  std::string_view name;
  std::int64_t MadeShape::*member;
  std::int64_t max;
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
  const std::int64_t min = name == "tied" ? 0 : 1;
  const std::int64_t max = name == "tied" ? 1 : known ? letter->max : 0;
  if (!known || !whole || value < min || value > max) {
    std::string letters;
    for (const Letter& l : kLetters) letters += fmt::format(" {} to {},", l.name, l.max);
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

struct TypeChoice {
  std::string name;  // upper case
  std::uint32_t file_type;
  const Format* common;
  const Format* better;  // of the output matrix and some of attn_v and ffn_down
};

// Types of the matrices of a file of this name: of a type, or the one mix that is known here.
TypeChoice choose_type(std::string_view text) {
  const std::string name = to_upper(text);
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
bool has_more_bits(std::int64_t layer, std::int64_t n_layers) {
  const std::int64_t eighth = n_layers / 8;
  return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

// The layer of a tensor of this name, "blk.3.attn_v.weight".
std::int64_t layer_of(std::string_view name) {
  std::int64_t layer = 0;
  name.remove_prefix(std::min<std::size_t>(name.size(), std::string_view("blk.").size()));
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

DType choose(const TypeChoice& type, std::int64_t n_layers, std::string_view name,
             const Shape& shape) {
  if (shape.rank() < 2) return f32;
  const bool sensitive = (name.ends_with("attn_v.weight") || name.ends_with("ffn_down.weight")) &&
                         has_more_bits(layer_of(name), n_layers);
  const DType dtype = (sensitive ? type.better : type.common)->dtype;
  if (shape.last() % dtype.block_elems() != 0)
    fail<ShapeError>("tensor '{}': {} is not fixed rows of whole blocks of {}", name,
                     to_string(shape), dtype.name());
  return dtype;
}

MadeSource source_of(const MadeShape& s, const TypeChoice& type) {
  MadeSource source(
      "llama", {.L = s.L, .D = s.D, .H = s.H, .G = s.G, .F = s.F, .V = s.V, .context = kContext});
  source.keys["general.name"] = fmt::format("random weights, {}", s.name);
  source.keys["general.file_type"] = std::int64_t{type.file_type};
  source.keys["general.quantization_version"] = std::int64_t{2};
  for (const char* key : {"attention.key_length", "attention.value_length", "rope.dimension_count"})
    source.keys[fmt::format("llama.{}", key)] = s.E;
  source.keys["llama.rope.freq_base"] = 500000.0;
  source.type_of = [&type, n_layers = s.L](std::string_view name, const Shape& shape) {
    return choose(type, n_layers, name, shape);
  };
  source.learn();
  if (!s.tied) source.add("output.weight", {type.better->dtype, {s.V, s.D}});
  return source;
}

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
  const TypeChoice choice = choose_type(type);
  write_made_model(source_of(shape, choice), path, {.progress = progress});
}

}  // namespace weft::tools
