// Ops whose definitions are callbacks.

#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include <nlohmann/json.hpp>

#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"
#include "weft/base/printable.h"
#include "weft/ops/apply_op.h"
#include "weft/ops/cuts.h"

#include "border/arguments.h"
#include "border/call.h"
#include "graphs/graph_objects.h"

namespace weft::c_api {

namespace {

struct CustomOp;

// Values as the caller's callbacks get them.
struct GivenValues {
  std::deque<std::string> texts;
  std::vector<weft_value> values;
};

// The attributes of all custom ops. What C gave determines the text.
struct CustomAttrs {
  std::string values;  // a JSON object
  const CustomOp* op = nullptr;
  std::shared_ptr<const GivenValues> given;
  static constexpr auto fields() { return std::tuple{field("values", &CustomAttrs::values)}; }
};

// Registered for the life of the process.
struct CustomOp {
  std::string name;
  std::deque<std::string> input_names;
  std::vector<OpInput> inputs;
  weft_op callbacks{};
  OpDef def;
};

weft_spec spec_of(const TensorSpec& spec) {
  weft_spec s{.dtype = spec.dtype.name().data(), .rank = spec.shape.n_dims()};
  std::ranges::copy(dims_of(spec.shape), s.dims);
  return s;
}

// A custom op may keep the variables of its inputs, which the graph checked.
TensorSpec spec_of(const weft_spec& s) {
  if (s.rank < 0 || s.rank > kMaxDims)
    fail<ShapeError>("the output has {} dimensions, at most {} are possible", s.rank, kMaxDims);
  std::vector<Dim> dims;
  check_reserved(s.reserved, "weft_spec");
  for (const weft_dim& dim : std::span(s.dims, static_cast<std::size_t>(s.rank))) {
    check_reserved(dim.reserved, "weft_dim");
    if (dim.bound < 0 || dim.variable < 0 || dim.variable > kMaxVariables)
      fail<ShapeError>("the output has a dimension {} with variable {}", dim.bound, dim.variable);
    dims.push_back(dim.variable == 0 ? Dim(dim.bound) : Dim(dim.bound, dim.variable - 1));
  }
  return {dtype_of(s.dtype), Shape(std::span<const Dim>(dims))};
}

TensorSpec infer_custom(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<CustomAttrs>();
  std::vector<weft_spec> inputs;
  for (const TensorSpec& spec : in) inputs.push_back(spec_of(spec));
  const weft_op& op = a.op->callbacks;
  weft_spec output{};
  checked_callback([&](weft_error** error) {
    return op.infer(op.user, inputs.data(), inputs.size(), a.given->values.data(),
                    a.given->values.size(), &output, error);
  });
  const TensorSpec spec = spec_of(output);
  for (const Dim& dim : spec.shape) {
    const auto has = [&](const TensorSpec& s) { return s.shape.n_dims() > 0 && s.shape[0] == dim; };
    if (dim.varies() && std::ranges::none_of(in, has))
      fail<ShapeError>("the output varies in a way that no input does");
  }
  return spec;
}

void compute_custom(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<CustomAttrs>();
  std::vector<weft_array> inputs;
  for (const View& view : in) inputs.push_back(array_of(view));
  weft_array output = array_of(out);
  const weft_op& op = a.op->callbacks;
  checked_callback([&](weft_error** error) {
    return op.compute(op.user, inputs.data(), inputs.size(), a.given->values.data(),
                      a.given->values.size(), &output, error);
  });
}

// Kernel and definition are the same code: any difference is one too many.
void exact_bound(const Attrs&, Views, View bounds) {
  for (std::int64_t r = 0; r < bounds.rows(); ++r)
    std::fill_n(bounds.row<float>(r), bounds.cols(), 0.0F);
}

OpCuts cuts_of(const weft_op& op) {
  if (!op.sharding) return {};
  const std::string_view sharding = op.sharding;
  if (sharding == "elementwise") return {.inputs = cut_elementwise};
  if (sharding == "heads") return {.inputs = cut_by_heads};
  if (sharding == "whole") return {.whole = true};
  fail<ValueError>("`sharding` must be elementwise, heads or whole, got '{}'", printable(sharding));
}

struct CustomOps {
  ForkMutex mutex;
  // By name; the last one counts, graphs may have the others.
  std::map<std::string, std::vector<std::unique_ptr<CustomOp>>, std::less<>> all;
};

CustomOps& custom_ops() {
  static NoDestructor<CustomOps> instance;
  return *instance;
}

std::unique_ptr<CustomOp> made_of(const weft_op& given) {
  auto op = std::make_unique<CustomOp>();
  check_flags(given.flags, WEFT_OP_REPLACES, "flags");
  check_reserved(given.reserved, "weft_op");
  op->name = required_name(given.name, "name");
  if (op->name.empty()) fail<ValueError>("`name` is empty");
  if (!given.infer || !given.compute)
    fail<ValueError>("op '{}' needs the callbacks `infer` and `compute`", printable(op->name));
  if (given.n_inputs == 0) fail<ValueError>("op '{}' has no inputs", printable(op->name));
  for (const char* name : array(given.input_names, given.n_inputs, "input_names")) {
    op->input_names.emplace_back(required_name(name, "input_names"));
    op->inputs.push_back({.name = op->input_names.back(), .reach = Reach::all});
  }
  op->callbacks = given;
  op->def = {.name = op->name,
             .inputs = op->inputs,
             .attrs = &kAttrsType<CustomAttrs>,
             .infer = infer_custom,
             .reference = compute_custom,
             .bound = exact_bound,
             .splits_rows = false,
             .custom = true,
             .cuts = cuts_of(given)};
  return op;
}

// JSON without a number for it would make NaN and infinities equal.
nlohmann::json json_of_attr(const AttrValue& value) {
  const auto* number = std::get_if<double>(&value);
  if (number && !std::isfinite(*number)) return nlohmann::json::array({fmt::format("{}", *number)});
  return std::visit([](const auto& x) { return nlohmann::json(x); }, value);
}

// The one that has this definition.
const CustomOp* custom_of(const OpDef& def) {
  const std::lock_guard lock(custom_ops().mutex);
  const auto& of_name = custom_ops().all.find(def.name)->second;
  return std::ranges::find(of_name, &def, [](const auto& op) { return &op->def; })->get();
}

void add(std::unique_ptr<CustomOp> op) {
  const std::lock_guard lock(custom_ops().mutex);
  auto& of_name = custom_ops().all[op->name];
  if (!of_name.empty() && (op->callbacks.flags & WEFT_OP_REPLACES) == 0)
    fail<ValueError>("an op '{}' is registered already", op->name);
  of_name.push_back(std::move(op));
}

bool is_built_in(std::string_view name) {
  const auto all = op_signatures();
  return std::ranges::find(all, name, &OpSignature::name) != all.end();
}

}  // namespace

const OpDef* find_custom_op(std::string_view name) {
  const std::lock_guard lock(custom_ops().mutex);
  const auto it = custom_ops().all.find(name);
  return it == custom_ops().all.end() ? nullptr : &it->second.back()->def;
}

Attrs custom_attrs(const OpDef& op, std::span<const NamedAttr> values) {
  attrs::refuse_twice(values);
  auto given = std::make_shared<GivenValues>();
  auto json = nlohmann::json::object();  // sorted: the order of values does not matter
  for (const NamedAttr& v : values) {
    const char* const name = given->texts.emplace_back(v.name).c_str();
    const auto* text = std::get_if<std::string_view>(&v.value);
    const char* const copied = text ? given->texts.emplace_back(*text).c_str() : nullptr;
    json[std::string(v.name)] = json_of_attr(v.value);
    given->values.push_back(value_of(name, v.value, copied));
  }
  return CustomAttrs{json.dump(), custom_of(op), std::move(given)};
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_register_op(const weft_op* op, weft_error** error) {
  return call(error, [&] {
    required(op, "op");
    auto made = made_of(read_options(op, weft_op{}, "weft_op"));
    if (is_built_in(made->name)) fail<ValueError>("op '{}' is built in", made->name);
    add(std::move(made));
  });
}
