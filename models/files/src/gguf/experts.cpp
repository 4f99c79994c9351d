#include "gguf/experts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "weft/base/text.h"

namespace weft::gguf {
namespace {

// The matrices of one kind in one layer.
struct Stack {
  std::size_t place = 0;  // index of the first expert in the list of tensors
  std::map<std::uint32_t, CheckpointTensor> experts;
};

struct ExpertName {
  std::string stack;  // "blk.3.ffn_gate_exps.weight"; empty: not the name of an expert's matrix
  std::uint32_t expert = 0;
};

ExpertName parse_name(std::string_view name) {
  constexpr std::string_view kEnd = ".weight";
  if (!name.starts_with("blk.") || !name.ends_with(kEnd)) return {};
  const std::string_view base = name.substr(0, name.size() - kEnd.size());
  const std::size_t dot = base.rfind('.');
  const std::string_view number = base.substr(dot + 1), kind = base.substr(0, dot);
  const bool of_ffn =
      kind.ends_with(".ffn_gate") || kind.ends_with(".ffn_up") || kind.ends_with(".ffn_down");
  if (!of_ffn || number.empty() || number.size() > 5 || !std::ranges::all_of(number, is_digit))
    return {};
  ExpertName found{.stack = std::string(kind) + "_exps.weight"};
  std::from_chars(number.data(), number.data() + number.size(), found.expert);
  return found;
}

const std::string& path_of(const files::OpenedFiles& files, const CheckpointTensor& tensor) {
  return files.paths[static_cast<std::size_t>(tensor.part)];
}

std::vector<RowRun> rows_of(const files::OpenedFiles& files, const Stack& stack) {
  const CheckpointTensor& first = stack.experts.begin()->second;
  std::vector<RowRun> runs;
  for (const auto& [number, tensor] : stack.experts) {
    if (number != runs.size()) {
      fail<FormatError>("{}: tensor '{}' is of expert {}, but that of expert {} is missing",
                        printable_path(path_of(files, tensor)), printable(tensor.name), number,
                        runs.size());
    }
    if (tensor.spec != first.spec || tensor.spec.shape.n_dims() != 2) {
      fail<FormatError>("{}: tensor '{}' must be a matrix as that of expert 0, {}, got {}",
                        printable_path(path_of(files, tensor)), printable(tensor.name),
                        to_string(first.spec), to_string(tensor.spec));
    }
    runs.push_back(files::whole_run(tensor, std::ssize(runs) * tensor.n_rows()));
  }
  return runs;
}

}  // namespace

void stack_experts(files::OpenedFiles& files) {
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, Stack> stacks;
  for (const CheckpointTensor& tensor : files.head.tensors) {
    const ExpertName name = parse_name(tensor.name);
    if (!name.stack.empty()) {
      const auto [stack, is_new] = stacks.try_emplace(name.stack);
      if (is_new) stack->second.place = tensors.size();
      const bool added = stack->second.experts.emplace(name.expert, tensor).second;
      if (!is_new && added) continue;
    }
    // The first expert of a stack keeps the place for it. A repeated expert is refused later.
    tensors.push_back(tensor);
  }
  if (stacks.empty()) return;
  const auto names = std::make_shared<std::deque<std::string>>();
  const auto runs = std::make_shared<std::deque<std::vector<RowRun>>>();
  for (const auto& [name, stack] : stacks) {
    CheckpointTensor& all = tensors[stack.place];
    const std::vector<RowRun>& rows = runs->emplace_back(rows_of(files, stack));
    const auto n = std::ssize(rows);
    all.name = names->emplace_back(name);
    all.spec.shape = {n, all.spec.shape[0], all.spec.shape[1]};
    all.n_bytes *= n;
    all.data = nullptr;
    all.runs = rows;
  }
  files.head.tensors = std::move(tensors);
  files.texts = names;
  files.runs = runs;
}

}  // namespace weft::gguf
