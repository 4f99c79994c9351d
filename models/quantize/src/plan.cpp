#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/grammar/regex.h"
#include "weft/ops/formats/format.h"
#include "weft/quantize/quantize.h"

#include "missing_importances.h"
#include "mixes.h"
#include "tensors.h"
#include "types.h"

namespace weft {
namespace {

using namespace quantize;

const MixInfo& mix_of(std::string_view name) {
  if (const MixInfo* mix = find_mix(name)) return *mix;
  fail<ValueError>("unknown type '{}' (known: {})", printable(name),
                   fmt::join(quantize_mixes(), ", "));
}

DType type_of(std::string_view name) {
  const DType type = find_type(name);
  if (!type.valid())
    fail<ValueError>("unknown tensor type '{}' (known: {})", printable(name), known_types());
  return type;
}

DType optional_type(std::string_view name) {
  return name.empty() ? DType() : type_of(name);
}

struct Override {
  std::string text;
  Regex pattern;
  DType type;
};

Regex regex_of(std::string_view pattern) {
  try {
    return Regex(pattern);
  } catch (const Error& e) {
    fail<ValueError>("not a usable regular expression: {}", printable(e.what(), 512));
  }
}

std::vector<Override> overrides_of(const QuantizeOptions& options) {
  std::vector<Override> overrides;
  for (const auto& [pattern, type] : options.tensor_types) {
    overrides.push_back({pattern, regex_of(pattern), type_of(type)});
  }
  return overrides;
}

// Throws ValueError for a pattern that matches none of the tensors that may be quantized.
void check_matches(const std::vector<Override>& overrides, const Checkpoint& file) {
  std::vector<std::string_view> names;
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (may_quantize(tensor)) names.push_back(tensor.name);
  }
  for (const Override& o : overrides) {
    if (std::ranges::any_of(names, [&](auto name) { return o.pattern.found_in(name); })) continue;
    std::string examples;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 2); ++i) {
      const std::string_view name = names[i * (names.size() - 1)];
      examples += fmt::format("{}'{}'", i == 0 ? ", such as " : " and ", printable(name));
    }
    fail<ValueError>("{}: the pattern '{}' matches no tensor that may be quantized{}",
                     printable_path(file.path()), printable(o.text), examples);
  }
}

class Planner {
 public:
  Planner(const Checkpoint& file, const QuantizeOptions& options)
      : file_(file),
        options_(options),
        mix_(mix_of(options.type)),
        overrides_(overrides_of(options)),
        output_(optional_type(options.output_type)),
        embedding_(optional_type(options.embedding_type)),
        model_(model_case(file)),
        cases_(tensor_cases(file)) {
    check_matches(overrides_, file);
    model_.has_imatrix = options.imatrix != nullptr;
  }

  QuantizePlan plan() {
    QuantizePlan plan;
    if (mix_.mix != Mix::copy) plan.file_type = mix_.file_type;
    const auto tensors = file_.tensors();
    bool wants_weights = false, any_weighted = false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const QuantizedTensor t = tensor(tensors[i], cases_[i]);
      plan.n_weights += t.tensor->spec.shape.elems();
      plan.bytes_before += t.tensor->n_bytes;
      plan.bytes_after += t.n_bytes;
      wants_weights |= t.converts() && t.to.is_quantized();
      any_weighted |= t.weighted;
      plan.tensors.push_back(t);
    }
    if (options_.imatrix) plan.warnings = missing_importances(plan, *options_.imatrix);
    if (options_.imatrix && wants_weights && !any_weighted) {
      fail<ValueError>(
          "the importance matrix has no entry for any tensor of {} to be "
          "quantized: it belongs to another model",
          file_.path());
    }
    return plan;
  }

 private:
  QuantizedTensor tensor(const CheckpointTensor& tensor, const TensorCase& c) const {
    const Rows rows = rows_of(tensor.spec);
    QuantizedTensor t{.tensor = &tensor, .to = tensor.spec.dtype};
    if (is_weight(tensor)) {
      const DType wanted = wanted_type(tensor, c, rows.n_cols);
      t.to = wanted == tensor.spec.dtype ? wanted : fitting(tensor, wanted, rows.n_cols);
      if (t.to != wanted) {
        t.note = fmt::format("rows of {} elements are not whole blocks of {}", rows.n_cols,
                             wanted.name());
      }
    }
    t.n_bytes = t.converts() ? t.to.bytes(tensor.spec.shape.elems()) : tensor.n_bytes;
    if (t.converts()) {
      t.weighted = is_weighted(tensor, t.to, rows);
      t.obstacle = obstacle(t);
    }
    return t;
  }

  // Numbers that are not integers, in a matrix.
  bool is_weight(const CheckpointTensor& tensor) const {
    const DType type = tensor.spec.dtype;
    const bool number = type.is_quantized() || type.name().find('F') != std::string_view::npos;
    if (options_.keep_others && type.is_quantized()) return false;
    return mix_.mix != Mix::copy && number && may_quantize(tensor) &&
           !(options_.leave_output && tensor.name == "output.weight");
  }

  DType wanted_type(const CheckpointTensor& tensor, const TensorCase& c,
                    std::int64_t n_cols) const {
    const TensorClass named = class_of(tensor.name);
    if (embedding_.valid() && named == TensorClass::token_embd) return embedding_;
    if (output_.valid() && c.of == TensorClass::output) return output_;
    for (const Override& o : overrides_) {
      if (o.pattern.found_in(tensor.name)) return o.type;
    }
    const DType main = type_of(mix_.type);
    if (!main.is_quantized() || options_.pure) return main;
    if (c.of == TensorClass::output && n_cols % main.block_elems() != 0) return type_of("Q8_0");
    return type_of(mix_type(mix_, model_, c));
  }

  DType fitting(const CheckpointTensor& tensor, DType wanted, std::int64_t n_cols) const {
    const DType type = fitting_type(wanted, n_cols);
    if (!type.valid() && options_.keep_others) return tensor.spec.dtype;
    if (!type.valid()) {
      fail<ShapeError>(
          "{}: tensor '{}': rows of {} elements are not whole blocks of {} ({} each), and there is "
          "no "
          "substitute; choose another type for it, such as F16",
          file_.path(), printable(tensor.name), n_cols, wanted.name(), wanted.block_elems());
    }
    return type;
  }

  bool is_weighted(const CheckpointTensor& tensor, DType to, const Rows& rows) const {
    if (options_.imatrix == nullptr || !to.is_quantized()) return false;
    try {
      return !options_.imatrix->importances(tensor.name, rows.n_cols, rows.n_matrices).empty();
    } catch (const ValueError&) {
      // Rows of the embedding are looked up, not multiplied, so its importances are meaningless.
      if (class_of(tensor.name) == TensorClass::token_embd) return false;
      throw;
    }
  }

  std::string obstacle(const QuantizedTensor& t) const {
    const CheckpointTensor& tensor = *t.tensor;
    const DType from = tensor.spec.dtype;
    const Format* decoder = find_format(from);
    const Format* encoder = find_format(t.to);
    if (decoder == nullptr || decoder->decode == nullptr)
      return fmt::format("cannot read weights in {}", from.name());
    if (from.is_quantized() && !options_.allow_requantize)
      return fmt::format("it is already {}; quantizing again loses precision", from.name());
    if (encoder == nullptr || (encoder->encode == nullptr && encoder->encode_weighted == nullptr))
      return fmt::format("cannot write weights in {}", t.to.name());
    if (t.to.gguf_id() < 0 && !options_.keep_others)
      return fmt::format("{} cannot be stored in a file; --quantize {} converts while loading",
                         t.to.name(), t.to.name());
    if (t.weighted) return "";
    const TensorClass named = class_of(tensor.name);
    const bool matrix = named != TensorClass::token_embd && named != TensorClass::output;
    const bool wants =
        needs_importances(t.to) || (mix_.mix == Mix::q2_k_s && t.to.name() == "Q2_K");
    if (encoder->encode == nullptr || (matrix && wants))
      return options_.imatrix
                 ? fmt::format(
                       "{} needs importances, and {} has none for it: collect them with "
                       "weft imatrix, or choose its type with --tensor-type",
                       t.to.name(), name_of(*options_.imatrix))
                 : fmt::format("{} needs an importance matrix", t.to.name());
    return "";
  }

  const Checkpoint& file_;
  const QuantizeOptions& options_;
  const MixInfo& mix_;
  const std::vector<Override> overrides_;
  const DType output_, embedding_;
  ModelCase model_;
  const std::vector<TensorCase> cases_;
};

}  // namespace

std::vector<std::string_view> quantize_mixes() {
  std::vector<std::string_view> names;
  for (const MixInfo& mix : all_mixes()) {
    for (const MixAlias& alias : mix_aliases()) {
      if (alias.mix == mix.name) names.push_back(alias.name);
    }
    names.push_back(mix.name);
  }
  return names;
}

std::optional<std::uint32_t> file_type_of(std::string_view mix_or_type) {
  if (const MixInfo* mix = find_mix(mix_or_type)) return mix->file_type;
  for (const MixInfo& mix : all_mixes()) {
    if (mix.type == mix_or_type) return mix.file_type;
  }
  return std::nullopt;
}

void check(const QuantizeOptions& options) {
  mix_of(options.type);
  overrides_of(options);
  optional_type(options.output_type);
  optional_type(options.embedding_type);
}

QuantizePlan plan_quantize(const Checkpoint& file, const QuantizeOptions& options) {
  return Planner(file, options).plan();
}

}  // namespace weft
