#include "made/made_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/files/made_model.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/quantize/quantize.h"

namespace weft::tools {
namespace {

// Sizes up to `max`: with these no count of parameters or bytes leaves 64 bits.
struct Letter {
  std::string_view name;
  std::int64_t arch::MadeSizes::*member;
  std::int64_t max;
};
constexpr Letter kLetters[] = {
    {"D", &arch::MadeSizes::D, 1 << 17}, {"F", &arch::MadeSizes::F, 1 << 20},
    {"L", &arch::MadeSizes::L, 1 << 10}, {"H", &arch::MadeSizes::H, 1 << 12},
    {"G", &arch::MadeSizes::G, 1 << 12}, {"V", &arch::MadeSizes::V, 1 << 20},
    {"E", &arch::MadeSizes::E, 1 << 12}};

void put_letter(MadeShape& shape, std::string_view part) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view name = part.substr(0, equals);
  const std::string_view number = part.substr(std::min(equals + 1, part.size()));
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const auto* letter = std::ranges::find(kLetters, name, &Letter::name);
  const bool known = name == "tied" || name == "skew" || letter != std::end(kLetters);
  const bool whole = !number.empty() && error == std::errc() && stop == number.end();
  const std::int64_t min = letter == std::end(kLetters) ? 0 : 1;
  const std::int64_t max = name == "tied" ? 1 : name == "skew" ? 100 : known ? letter->max : 0;
  if (!known || !whole || value < min || value > max) {
    std::string letters;
    std::vector<std::string_view> names;
    for (const MadeShape& shape_of_name : named_shapes()) names.push_back(shape_of_name.name);
    for (const Letter& l : kLetters) letters += fmt::format(" {} to {},", l.name, l.max);
    fail<ValueError>(
        "'{}' is neither one of the shapes {} nor a letter with a number from 1 on, as in "
        "D=512:{} tied=1 or skew=50",
        printable(part), fmt::join(names, ", "), letters);
  }
  if (name == "tied") {
    shape.tied = value != 0;
  } else if (name == "skew") {
    shape.skew = value;
  } else {
    shape.sizes.*(letter->member) = value;
  }
}

// With E, if it follows from the rest.
MadeShape with_heads(MadeShape shape) {
  arch::MadeSizes& sizes = shape.sizes;
  if (sizes.H == 0) sizes.E = 0;
  if (sizes.E > 0 || sizes.H == 0) return shape;
  if (sizes.D % sizes.H != 0)
    fail<ValueError>("shape '{}': H must divide D if E is not given", shape.name);
  sizes.E = sizes.D / sizes.H;
  return shape;
}

void check_shape(const MadeShape& s) {
  for (const Letter& letter : kLetters) {
    if (s.sizes.*letter.member == 0) fail<ValueError>("shape '{}' lacks {}=", s.name, letter.name);
  }
}

void check_heads(const MadeShape& s) {
  if (s.sizes.G > 0 && s.sizes.H % s.sizes.G != 0)
    fail<ValueError>("shape '{}': G must divide H", s.name);
  if (s.sizes.E % 2 != 0) fail<ValueError>("shape '{}': heads of {} are odd", s.name, s.sizes.E);
}

struct TypeChoice {
  std::string name;  // upper case
  std::uint32_t file_type;
  const Format* common;
  const Format* better;  // for the output matrix and some of attn_v and ffn_down
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

// Tensors that files have in F32 in any type.
bool stays_f32(std::string_view name, const Shape& shape) {
  constexpr std::string_view kEndings[] = {".bias", "ffn_gate_inp.weight", "position_embd.weight",
                                           "token_types.weight"};
  return shape.n_dims() < 2 || std::ranges::any_of(kEndings, [&](std::string_view ending) {
           return name.ends_with(ending);
         });
}

DType choose(const TypeChoice& type, const MadeShape& made, std::string_view name,
             const Shape& shape) {
  if (stays_f32(name, shape)) return f32;
  const bool sensitive = (name.ends_with("attn_v.weight") || name.ends_with("ffn_down.weight") ||
                          name.ends_with("ffn_down_exps.weight")) &&
                         has_more_bits(layer_of(name), made.sizes.L + made.sizes.draft_layers);
  DType dtype = (sensitive ? type.better : type.common)->dtype;
  const bool is_named = std::ranges::count(named_shapes(), made.name, &MadeShape::name) > 0;
  const auto whole = [&] { return shape.last() % dtype.block_elems() == 0; };
  if (is_named && !whole()) dtype = dtype == q4_k ? q5_0 : q8_0;
  if (is_named && !whole()) dtype = f32;  // convolutions of few tokens
  if (!whole())
    fail<ShapeError>("tensor '{}': {} is not fixed rows of whole blocks of {}", name,
                     to_string(shape), dtype.name());
  return dtype;
}

arch::MadeSource made_source(const MadeShape& s, const TypeChoice& type) {
  arch::MadeSource source(std::string(s.architecture), s.sizes);
  source.keys["general.name"] =
      fmt::format("random weights, {}{}{}", s.name, s.note.empty() ? "" : ", ", s.note);
  source.keys["general.file_type"] = std::int64_t{type.file_type};
  source.keys["general.quantization_version"] = std::int64_t{2};
  for (const auto& [key, value] : s.keys) source.set(key, value);
  source.optional_endings = s.optional;
  source.type_of = [&type, &s](std::string_view name, const Shape& shape) {
    return choose(type, s, name, shape);
  };
  source.learn();
  if (!s.tied) {
    TypeChoice of_output = type;
    of_output.common = type.better;
    const Shape shape{s.sizes.V, s.sizes.D};
    source.add("output.weight", {choose(of_output, s, "output.weight", shape), shape});
  }
  return source;
}

// Scales the rows of a router [X, D], so that some experts are chosen more often. The scales are
// log-normal quantiles, in an order that differs from layer to layer.
void skew_router(const MadeShape& shape, std::vector<float>& values) {
  const auto n = values.size() / static_cast<std::size_t>(shape.sizes.D);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(static_cast<std::uint32_t>(std::fabs(values[0]) * 1e9f));
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (std::size_t e = 0; e < n; ++e) {
    const double x = (static_cast<double>(order[e]) + 0.5) / static_cast<double>(n);
    const double logistic = std::log(x / (1 - x)) / 1.702;  // near the normal quantile
    const auto scale =
        static_cast<float>(std::exp(static_cast<double>(shape.skew) / 100 * logistic));
    const auto row = std::span(values).subspan(e * static_cast<std::size_t>(shape.sizes.D),
                                               static_cast<std::size_t>(shape.sizes.D));
    for (float& v : row) v *= scale;
  }
}

// Experts are chosen by the token alone: otherwise all tokens of a random model are alike after a
// few layers, which add more to them than they are.
void skew(const MadeShape& shape, const std::string& name, std::vector<float>& values) {
  const bool is_router = name.ends_with("ffn_gate_inp.weight");
  const float scale = name.ends_with("attn_norm.weight")  ? 1e-3f
                      : name.ends_with("ffn_norm.weight") ? 0.05f
                                                          : 1;
  for (float& v : values) v *= scale;
  if (is_router) skew_router(shape, values);
}

}  // namespace

arch::MadeSource source_of(const MadeShape& shape, std::string_view type) {
  const TypeChoice choice = choose_type(type);
  arch::MadeSource source = made_source(shape, choice);
  source.type_of = {};  // refers to `choice`
  return source;
}

std::int64_t MadeShape::parameters() const {
  std::int64_t n = 0;
  const arch::MadeSource source = source_of(*this, "F32");
  for (const arch::MadeSource::Tensor& tensor : source.tensors()) n += tensor.spec.shape.elems();
  return n;
}

MadeShape parse_shape(std::string_view text) {
  MadeShape shape;
  const std::string_view first = text.substr(0, text.find(','));
  const auto known = std::ranges::find(named_shapes(), first, &MadeShape::name);
  const bool is_named = known != named_shapes().end();
  if (is_named && first == text) return with_heads(*known);
  if (is_named) {
    shape = *known;
    shape.note = fmt::format("with {}", text.substr(first.size() + 1));
  } else {
    shape.name = text;
  }
  std::size_t at = is_named ? first.size() + 1 : 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    put_letter(shape, text.substr(at, comma - at));
    at = comma + 1;
  }
  shape = with_heads(shape);
  if (!is_named) check_shape(shape);
  check_heads(shape);
  if (shape.skew > 0 && shape.sizes.X == 0)
    fail<ValueError>("shape '{}' has no experts, so skew= has no effect", shape.name);
  return shape;
}

std::string known_shapes() {
  std::string text;
  for (const MadeShape& named : named_shapes()) {
    const MadeShape s = parse_shape(named.name);
    std::string sizes;
    for (const Letter& letter : kLetters) {
      const std::int64_t value = s.sizes.*letter.member;
      if (value > 0) sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", letter.name, value);
    }
    if (s.tied) sizes += ",tied=1";
    text +=
        fmt::format("  {:<16}{:<57}{:6.2f}e9 parameters{}{}\n", s.name, sizes,
                    static_cast<double>(s.parameters()) / 1e9, s.note.empty() ? "" : ", ", s.note);
  }
  return text;
}

void make_model(const MadeShape& shape, std::string_view type, const std::string& path,
                const std::function<bool(double)>& progress) {
  const auto change = [&](const std::string& name, std::vector<float>& values) {
    if (shape.skew > 0) skew(shape, name, values);
  };
  write_made_model(source_of(shape, type), path, {.change = change, .progress = progress});
}

}  // namespace weft::tools
