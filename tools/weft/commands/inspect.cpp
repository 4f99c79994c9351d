#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/describe.h"
#include "weft/files/weft_keys.h"

#include "common/override_flags.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// How much of long values is shown.
struct Limits {
  std::size_t elements = 6;
  std::size_t text_bytes = 100;
};

// One element of any kind as readable text. The overloads handle the alternatives of MetaValue and
// MetaArray.
struct TextOf {
  MetaType type;
  const Limits& limits;

  std::string operator()(std::uint64_t v) const { return fmt::format("{}", v); }
  std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return shortest_decimal(v, type); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::string_view v) const {
    return "\"" + printable(v, limits.text_bytes) + "\"";
  }
  std::string operator()(const MetaValue& v) const {
    return std::visit(TextOf{v.type, limits}, v.value);
  }
  std::string operator()(const std::shared_ptr<const MetaArray>& array) const {
    const TextOf element{array->element, limits};
    return std::visit(
        [&](const auto& values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          std::string out = "[";
          const std::size_t shown = std::min(values.size(), limits.elements);
          for (std::size_t i = 0; i < shown; ++i)
            out += (i ? ", " : "") + element(static_cast<const T&>(values[i]));
          return out + (shown < values.size() ? ", ...]" : "]");
        },
        array->values);
  }
};

std::string type_text(const MetaValue& value) {
  const MetaArray* array = as_array(value);
  if (!array) return std::string(to_string(value.type));
  return fmt::format("{}[{}]", to_string(array->element), array->size());
}

void print_metadata(std::ostream& out, const Checkpoint& file, const Limits& limits) {
  std::size_t width = 0;
  for (const MetaEntry& e : file.metadata())
    width = std::max(width, std::min<std::size_t>(e.key.size(), 48));
  out << "\nMetadata\n";
  for (const MetaEntry& e : file.metadata()) {
    out << fmt::format("  {:<{}}  {:<12}  {}\n", printable(e.key), width, type_text(e.value),
                       TextOf{e.value.type, limits}(e.value));
  }
}

void print_tensors(std::ostream& out, const Checkpoint& file) {
  std::size_t width = 4;
  for (const CheckpointTensor& t : file.tensors())
    width = std::max(width, std::min<std::size_t>(t.name.size(), 64));
  out << fmt::format(
      "\nTensors (shapes with the slowest dimension first)\n  {:<{}}  {:<8}  {:<24}  {:>14}  "
      "{:>14}{}\n",
      "name", width, "type", "shape", "bytes", "offset",
      file.part_paths().size() > 1 ? "  part" : "");
  for (const CheckpointTensor& t : file.tensors()) {
    out << fmt::format("  {:<{}}  {:<8}  {:<24}  {:>14}  {:>14}", printable(t.name), width,
                       t.spec.dtype.name(), to_string(t.spec.shape), t.n_bytes, t.file_offset);
    if (file.part_paths().size() > 1) out << fmt::format("  {:>4}", t.part + 1);
    out << '\n';
  }
}

void print_totals(std::ostream& out, const TensorTotals& totals) {
  const auto row = [&](std::string_view name, const TensorTotals::Sum& total,
                       std::string_view remark) {
    out << fmt::format(
        "  {:<8}  {:>6} tensors  {:>14} weights  {:>16} bytes  {:>10}  {:6.3f} bits per weight{}\n",
        name, total.tensors, total.elems, total.bytes, human_bytes(total.bytes), total.bits(),
        remark);
  };
  out << "\nTotals\n";
  for (const auto& [id, entry] : totals.by_type) {
    row(entry.first.name(), entry.second, is_supported(entry.first) ? "" : "  (not supported yet)");
  }
  row("all", totals.all, "");
}

void print_text(std::ostream& out, const Checkpoint& file, const Limits& limits) {
  for (const std::string& path : file.part_paths()) out << printable_path(path) << '\n';
  if (file.is_directory()) out << "A directory of safetensors, as the GGUF file that it becomes:\n";
  if (file.find(kSplitShardingKey))
    out << "A part of a model that is divided among ranks, by weft split-for:\n";
  out << fmt::format(
      "GGUF version {}, {} metadata entries, {} tensors, alignment {}, {} bytes ({})\n",
      file.version(), file.metadata().size(), file.tensors().size(), file.alignment(),
      file.file_bytes(), human_bytes(file.file_bytes()));
  print_metadata(out, file, limits);
  if (file.tensors().empty()) return;
  print_tensors(out, file);
  print_totals(out, TensorTotals(file.tensors()));
}

int inspect(int argc, char** argv) {
  cli::App app(
      "Prints the header, metadata and tensors of a GGUF file or of a directory of safetensors.",
      "weft inspect");
  std::string model;
  bool json = false;
  bool full = false;
  std::vector<KeyOverride> overrides;
  app.add_option("model,-m,--model", model,
                 "GGUF file; of a split model, the first part; or a directory")
      .file_suffix(".gguf")
      .required();
  app.add_flag("--json", json, "print everything as one JSON object");
  app.add_flag("--full", full, "print long strings and arrays in full");
  cli::add_override_flag(app, overrides);
  app.footer(
      "Examples:\n"
      "  weft inspect model.gguf\n"
      "  weft inspect model.gguf --json | jq '.metadata[\"general.architecture\"].value'");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const OpenOptions how{.allow_unknown_settings = true, .rank_files = true};
  const Checkpoint file = Checkpoint::open(model, how).with_keys(overrides);
  cli::use_own_buffers();
  if (json) {
    write_json(std::cout, file);
  } else {
    print_text(std::cout, file, full ? Limits{SIZE_MAX, SIZE_MAX} : Limits{});
  }
  return 0;
}

}  // namespace

const Subcommand kInspect{"inspect", "shows header, metadata, tensors, types and bytes of a model",
                          inspect};

}  // namespace weft::tools
