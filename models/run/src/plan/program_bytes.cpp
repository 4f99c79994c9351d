#include "plan/program_bytes.h"

#include "weft/tokenize/vocabulary.h"

namespace weft::run {
namespace {

// Texts, their index and the flags of a token; a merge with its index.
constexpr std::int64_t kTokenBytes = 96, kMergeBytes = 128;
// A node of a graph with its part of the plan and its prepared step.
constexpr std::int64_t kNodeBytes = 2048;

}  // namespace

std::int64_t program_bytes(const Model& model, const PlannedModel& planned) {
  const ProgramMemory counted = planned.options.program;
  if (counted == ProgramMemory::none) return 0;
  const Vocabulary& vocabulary = model.vocabulary();
  std::int64_t bytes = kTokenBytes * vocabulary.size() + kMergeBytes * vocabulary.n_merges();
  for (const Graph& graph : planned.graphs) bytes += kNodeBytes * std::ssize(graph);
  if (counted == ProgramMemory::process) bytes += kProcessBytes;
  return bytes;
}

}  // namespace weft::run
