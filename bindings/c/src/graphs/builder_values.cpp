// Hyper-parameters by name.

#include <cmath>
#include <optional>
#include <string>

#include "weft/base/intern.h"

#include "border/arguments.h"
#include "border/call.h"
#include "graphs/builder_objects.h"

namespace weft::c_api {

double score_scale(std::int64_t width) {
  return static_cast<double>(1 / std::sqrt(static_cast<float>(width)));
}

namespace {

using Layer = arch::LayerHparams;
using Hparams = arch::Hparams;

struct LayerInteger {
  std::string_view name;
  std::int64_t Layer::*member;
};
constexpr LayerInteger kLayerIntegers[] = {
    {"H", &Layer::H}, {"G", &Layer::G},           {"E", &Layer::E},        {"Ev", &Layer::Ev},
    {"F", &Layer::F}, {"window", &Layer::window}, {"kv_of", &Layer::kv_of}};

std::optional<std::int64_t> layer_integer(const Layer& layer, std::string_view name) {
  for (const LayerInteger& i : kLayerIntegers) {
    if (i.name == name) return layer.*i.member;
  }
  if (name == "experts") return layer.experts;
  if (name == "rope") return static_cast<std::int64_t>(layer.rope);
  return std::nullopt;
}

std::optional<std::int64_t> model_integer(const Hparams& c, std::string_view name) {
  if (name == "L") return c.L;
  if (name == "D") return c.D;
  if (name == "V") return c.V;
  if (name == "context") return c.context;
  if (name == "causal") return c.causal;
  if (name == "X") return c.experts.X;
  if (name == "K") return c.experts.K;
  if (name == "expert_F") return c.experts.F;
  if (name == "shared_F") return c.experts.shared_F;
  return std::nullopt;
}

const Layer& layer_of(const Hparams& c, std::int64_t layer) {
  check_between(layer, 0, std::ssize(c.layers) - 1, "layer");
  return c.layer(static_cast<std::int32_t>(layer));
}

// A value of one layer, or for -1 the one that all layers share.
std::optional<std::int64_t> shared_integer(const Hparams& c, std::string_view name) {
  std::optional<std::int64_t> shared;
  for (const Layer& layer : c.layers) {
    const auto value = layer_integer(layer, name);
    if (!value) return std::nullopt;
    if (shared && *shared != *value)
      fail<ValueError>("'{}' differs from layer to layer: name the layer", name);
    shared = value;
  }
  return shared;
}

std::optional<std::int64_t> integer_of(const OwnHparams& c, std::int64_t layer,
                                       std::string_view name) {
  if (layer >= 0) return layer_integer(layer_of(c, layer), name);
  if (const auto it = c.integers.find(name); it != c.integers.end()) return it->second;
  if (const auto value = model_integer(c, name)) return value;
  return shared_integer(c, name);
}

std::optional<double> number_of(const OwnHparams& c, std::int64_t layer, std::string_view name) {
  if (name == "attention_scale") {
    return score_scale(integer_of(c, layer, "E").value_or(1));
  }
  if (layer < 0) {
    if (const auto it = c.numbers.find(name); it != c.numbers.end()) return it->second;
    if (name == "eps") return static_cast<double>(c.eps);
    if (name == "clamp_qkv") return static_cast<double>(c.clamp_qkv);
    if (name == "expert_scale") return static_cast<double>(c.experts.scale);
  }
  const auto whole = integer_of(c, layer, name);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

[[noreturn]] void refuse_name(std::string_view name) {
  fail<ValueError>("no hyper-parameter '{}', and no key of this name was read", name);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_builder_get_number(weft_builder* builder, int64_t layer, const char* name,
                                    double* value, weft_error** error) {
  return call(error, [&] {
    const auto b = used_in_callback<BuilderObject>(builder);
    const std::string_view wanted = required_name(name, "name");
    const auto found = number_of(b->hparams, layer, wanted);
    if (!found) refuse_name(wanted);
    required(value, "value") = *found;
  });
}

weft_status weft_builder_get_integer(weft_builder* builder, int64_t layer, const char* name,
                                     int64_t* value, weft_error** error) {
  return call(error, [&] {
    const auto b = used_in_callback<BuilderObject>(builder);
    const std::string_view wanted = required_name(name, "name");
    const auto found = integer_of(b->hparams, layer, wanted);
    if (!found) refuse_name(wanted);
    required(value, "value") = *found;
  });
}

weft_status weft_builder_get_rope(weft_builder* builder, weft_value* values, size_t capacity,
                                  size_t* n, weft_error** error) {
  return call(error, [&] {
    const auto b = used_in_callback<BuilderObject>(builder);
    required(n, "n");
    std::vector<weft_value> all;
    Attrs(b->hparams.rope).for_each([&](std::string_view name, const AttrValue& value) {
      const auto* text = std::get_if<std::string_view>(&value);
      // The names of fields are literals.
      all.push_back(value_of(name.data(), value, text ? intern(*text).data() : nullptr));
    });
    check_capacity(all.size(), capacity, n, "values");
    std::ranges::copy(all, array(values, all.size(), "values").begin());
    *n = all.size();
  });
}
