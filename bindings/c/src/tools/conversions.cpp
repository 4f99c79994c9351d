// Files that are written: quantized, converted, made up.

#include <optional>
#include <string>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/convert.h"
#include "weft/files/made_model.h"
#include "weft/ops/formats/format.h"
#include "weft/quantize/imatrix.h"
#include "weft/quantize/quantize.h"
#include "weft/run/model.h"
#include "weft/scheduler/workers.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/gate.h"
#include "border/options.h"
#include "border/values.h"
#include "tools/keys.h"

namespace weft::c_api {
namespace {

arch::MadeSource::Value made_value(std::string_view text) {
  return std::string(text);
}
template <class T>
arch::MadeSource::Value made_value(T value) {
  return value;
}

weft_quantize_options default_quantize_options() {
  return {.struct_size = sizeof(weft_quantize_options)};
}

QuantizeOptions quantize_options(const weft_quantize_options& o) {
  QuantizeOptions options{.type = std::string(required_text(o.type, "type")),
                          .tensor_types = {},
                          .output_type = std::string(text_or(o.output_type)),
                          .embedding_type = std::string(text_or(o.embedding_type)),
                          .pure = is_set(o.pure, "pure"),
                          .leave_output = is_set(o.leave_output, "leave_output"),
                          .allow_requantize = is_set(o.allow_requantize, "allow_requantize"),
                          .nonfinite_to_zero = is_set(o.nonfinite_to_zero, "nonfinite_to_zero")};
  for (const std::string& rule : split_list(o.tensor_types, '\n')) {
    const std::size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0)
      fail<ValueError>("a line of `tensor_types` must be REGEX=TYPE, got '{}'", printable(rule));
    options.tensor_types.emplace_back(rule.substr(0, equals), rule.substr(equals + 1));
  }
  check(options);
  check_between(o.workers, 0, kMaxWorkers, "workers");
  return options;
}

void quantize(const std::string& input, const std::string& output, const weft_quantize_options& o) {
  QuantizeOptions options = quantize_options(o);
  std::optional<Imatrix> imatrix;
  if (o.imatrix) options.imatrix = &imatrix.emplace(Imatrix::read(o.imatrix));
  const Checkpoint file = Checkpoint::open(input);
  const QuantizePlan plan = plan_quantize(file, options);
  for (const std::string& warning : plan.warnings) log_to(o.log, o.log_user, warning);
  CancellableCall running;
  quantize_file(file, plan, options,
                {.workers = o.workers,
                 .progress = running.watch(progress_of(o.progress, o.progress_user)),
                 .finished = {}},
                output);
}

// None: unchanged.
DType matrix_type(const char* type) {
  if (!type) return {};
  const std::string_view name = type;
  if (name != "F32" && name != "F16" && name != "BF16")
    fail<ValueError>("`type` must be F32, F16 or BF16, got '{}'", printable(name));
  return find_format_by_name(name)->dtype;
}

void convert(const std::string& folder, const std::string& output, ConvertOptions options) {
  // Loading checks that all weights exist, and no unknown ones.
  const auto model = Model::load(folder);
  if (!model->file().is_directory())
    fail<ValueError>("{}: already a GGUF file, expected a directory", printable_path(folder));
  CancellableCall running;
  options.progress = running.watch(options.progress);
  write_gguf(model->file(), output, options);
}

}  // namespace

std::vector<std::pair<std::string, arch::MadeSource::Value>> made_keys(const weft_value* keys,
                                                                       std::size_t n) {
  std::vector<std::pair<std::string, arch::MadeSource::Value>> made;
  for (const NamedValue& v : named_values(keys, n, "keys")) {
    made.emplace_back(v.name, std::visit([](auto value) { return made_value(value); }, v.value));
  }
  return made;
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_write_made_model(const char* architecture, const weft_value* keys, size_t n_keys,
                                  const char* path, weft_error** error) {
  return call(error, [&] {
    arch::MadeSource source(std::string(required_text(architecture, "architecture")));
    const std::string output(required_text(path, "path"));
    for (auto& [name, value] : made_keys(keys, n_keys)) source.keys[name] = value;
    source.learn();
    CancellableCall running;
    write_made_model(source, output, {.change = {}, .progress = running.watch({})});
  });
}

weft_status weft_quantize_options_init(weft_quantize_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_quantize_options(), "weft_quantize_options");
  });
}

weft_status weft_quantize(const char* input, const char* output,
                          const weft_quantize_options* options, weft_error** error) {
  return call(error, [&] {
    quantize(std::string(required_text(input, "input")),
             std::string(required_text(output, "output")),
             read_options(options, default_quantize_options(), "weft_quantize_options"));
  });
}

weft_status weft_convert(const char* folder, const char* output, const char* type,
                         weft_progress progress, void* user, weft_error** error) {
  return call(error, [&] {
    convert(std::string(required_text(folder, "folder")),
            std::string(required_text(output, "output")),
            {.matrices = matrix_type(type), .progress = progress_of(progress, user)});
  });
}
