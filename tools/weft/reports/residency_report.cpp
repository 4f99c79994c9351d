#include "reports/residency_report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"

#include "reports/percent.h"

namespace weft::tools {
namespace {

// "blk.3.attn_q.weight" is of the kind "blk.*.attn_q.weight".
std::string kind_of(std::string_view name) {
  std::string kind;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins = i > 0 && name[i - 1] == '.';
    if (!begins || std::isdigit(static_cast<unsigned char>(name[i])) == 0) {
      kind += name[i];
      continue;
    }
    while (i + 1 < name.size() && name[i + 1] != '.') ++i;
    kind += '*';
  }
  return kind;
}

// Tensors that differ only in their layers and are in the same place.
struct Line {
  std::string kind;
  WeightPlace place = WeightPlace::resident;
  std::int64_t n = 0, bytes = 0;
};

std::vector<Line> lines_of(const Model& model, const PlannedModel& planned) {
  std::vector<Line> lines;
  for (const PlacedTensor& t : placed_tensors(model, planned)) {
    const std::string kind = kind_of(t.name);
    auto line = std::ranges::find_if(
        lines, [&](const Line& l) { return l.kind == kind && l.place == t.place; });
    if (line == lines.end()) line = lines.insert(line, {.kind = kind, .place = t.place});
    ++line->n;
    line->bytes += t.bytes;
  }
  std::ranges::stable_sort(lines, std::greater(), &Line::bytes);
  return lines;
}

std::string experts_text(const Residency& r) {
  std::string text;
  for (const SlotClass& c : r.slots) {
    text +=
        fmt::format("  cache of experts: {} of {} fit in slots of {}, {}\n", c.n_slots, c.n_experts,
                    human_bytes(c.slot_bytes), human_bytes(c.n_slots * c.slot_bytes));
  }
  return text;
}

}  // namespace

std::string to_text(const Model& model, const PlannedModel& planned) {
  const Residency& r = planned.residency;
  if (r.empty()) return "";
  std::string text = "read from disk while steps run:\n";
  if (!r.streamed.empty())
    text +=
        fmt::format("  in every step, in order: {} weights, {}, by a ring of {}\n",
                    r.streamed.size(), human_bytes(r.streamed_bytes()), human_bytes(r.ring_bytes));
  text += experts_text(r);
  for (const Line& line : lines_of(model, planned))
    text += fmt::format("  {:<9} {:>11}  {} {}\n", to_string(line.place), human_bytes(line.bytes),
                        line.n, line.kind);
  return text;
}

}  // namespace weft::tools
