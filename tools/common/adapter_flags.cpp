#include "common/adapter_flags.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/printable.h"

namespace weft::cli {
namespace {

using Add = std::function<void(const std::string& path, float scale)>;

// A comma separates files, unless it is part of the name of a file.
std::vector<std::string> split_files(const std::string& flag, const std::string& text) {
  std::error_code error;
  if (std::filesystem::exists(text, error)) return {text};
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end == at)
      reject_value(flag, fmt::format("a file name is missing in '{}'", printable(text)));
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<float> scale_of(const std::string& text) {
  char* end = nullptr;
  const float scale = std::strtof(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return scale;
}

void add_scaled(const std::string& flag, const std::string& path, const std::string& scale,
                const Add& add) {
  const std::optional<float> value = scale_of(scale);
  if (path.empty() || !value || !std::isfinite(*value)) {
    reject_value(flag, fmt::format("the scale of '{}' must be a finite number, got "
                                   "'{}'; write FILE:SCALE or FILE SCALE",
                                   printable_path(path), printable(scale)));
  }
  add(path, *value);
}

// "FILE" "SCALE", or "FILE:SCALE,FILE:SCALE".
void parse_scaled(const std::string& flag, const std::vector<std::string>& words, const Add& add) {
  if (words.size() == 2) return add_scaled(flag, words[0], words[1], add);
  for (const std::string& part : split_files(flag, words.front())) {
    const std::size_t colon = part.rfind(':');
    const bool has_scale = colon != std::string::npos;
    add_scaled(flag, part.substr(0, colon), has_scale ? part.substr(colon + 1) : "", add);
  }
}

// NAME FILE and NAME-scaled FILE:SCALE. Both run in the order of the command line.
void add_flags_of(App& app, const std::string& name, const std::string& what, const Add& add) {
  app.add_option_function(
         name,
         [name, add](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             for (const std::string& path : split_files(name, text)) add(path, 1);
         },
         what + "; may be repeated")
      .take_all()
      .allow_extra_args(false)
      .trigger_on_parse()
      .file_suffix(".gguf")
      .type_name("FILE");
  const std::string scaled = name + "-scaled";
  app.add_option_function(
         scaled,
         [scaled, add](const std::vector<std::string>& words) { parse_scaled(scaled, words, add); },
         "the same with a scale: FILE:SCALE or FILE SCALE; may be repeated")
      .expected(1, 2)
      .take_all()
      .trigger_on_parse()
      .type_name("FILE:SCALE");
}

}  // namespace

void add_lora_flags(App& app, AdapterFiles& files) {
  add_flags_of(app, "--lora", "LoRA in a GGUF file, added to the model's weights",
               [&files](const std::string& path, float scale) {
                 files.loras.push_back({path, scale});
               });
}

void add_adapter_flags(App& app, AdapterFiles& files) {
  add_lora_flags(app, files);
  add_flags_of(app, "--control-vector",
               "control vector in a GGUF file, added to the outputs of layers",
               [&files](const std::string& path, float scale) {
                 files.control_vectors.push_back({path, scale});
               });
  app.add_option_function(
         "--control-vector-layer-range",
         [&files](const std::vector<std::int64_t>& range) {
           if (range.size() != 2)
             reject_value("--control-vector-layer-range", "must be two numbers, START END");
           files.control_layers = ControlLayers{range[0], range[1]};
         },
         "first and last layer that control vectors change (default: all that have a direction)")
      .expected(2)
      .take_all()
      .type_name("START END");
}

}  // namespace weft::cli
