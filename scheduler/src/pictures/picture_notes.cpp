#include "weft/scheduler/picture_notes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/draw/dot.h"
#include "weft/graph/layer_path.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/timeline.h"

namespace weft {
namespace {

// Colours of backends, in the order in which the plan names them.
constexpr std::string_view kBackendColours[] = {"#1d4ed8", "#be123c", "#047857",
                                                "#7e22ce", "#b45309", "#0e7490"};

// White over orange to red.
std::string heat_colour(double heat) {
  const double h = std::clamp(heat, 0.0, 1.0);
  const auto channel = [&](double cool, double hot) {
    return static_cast<int>(std::lround(cool + (hot - cool) * h));
  };
  return fmt::format("#ff{:02x}{:02x}", channel(255, 138), channel(250, 101));
}

// Sums of numbers from files may exceed all integer types.
std::string bytes_text(double bytes) {
  return human_bytes(static_cast<std::int64_t>(std::clamp(bytes, 0.0, 0x1p62)));
}

std::string lanes_text(const PlanStep& step, int lanes) {
  if (lanes == 1) return "";
  const std::string all = lanes == 2 ? "both lanes" : fmt::format("{} lanes", lanes);
  switch (step.split) {
    case Split::one:
      return fmt::format("lane {}", step.lane);
    case Split::copies:
      return all + ", each all of it";
    case Split::cols:
      return all + ", by columns";
    case Split::rows:
      break;
  }
  return all + ", by rows";
}

class Notes {
 public:
  Notes(const Graph& graph, const Plan& plan, const NoteOptions& options)
      : graph_(graph), plan_(plan), options_(options), steps_(plan.steps_by_node()) {
    for (const PlanStep& step : plan.steps) {
      if (std::ranges::find(backends_, step.backend) == backends_.end())
        backends_.push_back(step.backend);
    }
    if (options.profile) {
      for (const ProfiledNode& node : options.profile->nodes) profiled_[node.path] = &node;
    }
  }

  std::vector<BoxFacts> add(draw::Picture& picture) {
    double max_ns = 0, max_bytes = 0;
    for (const draw::PictureBox& box : picture.boxes) {
      max_ns = std::max(max_ns, ns_of(box));
      max_bytes = std::max(max_bytes, bytes_of(box));
    }
    std::vector<BoxFacts> facts;
    for (draw::PictureBox& box : picture.boxes) {
      if (box.nodes.empty()) continue;
      facts.push_back(facts_of(box));
      if (const PlanStep* step = step_of(box)) mark(box, *step, max_ns, max_bytes);
      for (const auto& [key, value] : facts.back().rows)
        box.tooltip += fmt::format("{}{}: {}", box.tooltip.empty() ? "" : "\n", key, value);
    }
    legend(picture);
    return facts;
  }

 private:
  const PlanStep* step_of(const draw::PictureBox& box) const {
    return box.placeholder || box.nodes.empty() ? nullptr : steps_[box.nodes.front()];
  }

  // The sum over all nodes of a box.
  template <class F>
  double sum(const draw::PictureBox& box, F f) const {
    double total = 0;
    for (const NodeId id : box.nodes) {
      if (!box.placeholder && steps_[id]) total += f(*steps_[id]);
    }
    return total;
  }
  double ns_of(const draw::PictureBox& box) const {
    return sum(box, [&](const PlanStep& step) {
      const auto found = profiled_.find(step.path);
      return found == profiled_.end() ? 0 : found->second->ns;
    });
  }
  double bytes_of(const draw::PictureBox& box) const {
    return sum(box, [&](const PlanStep& step) {
      if (!options_.profile)
        return static_cast<double>(step.cost.bytes_read) +
               static_cast<double>(step.cost.bytes_written);
      const auto found = profiled_.find(step.path);
      return found == profiled_.end() ? 0 : found->second->bytes;
    });
  }
  // The kernel that a profile measured, if it differs: the profile is of another machine.
  const std::string* other_kernel(const PlanStep& step) const {
    const auto found = profiled_.find(step.path);
    if (found == profiled_.end() || found->second->kernel.empty()) return nullptr;
    return found->second->kernel == step.kernel ? nullptr : &found->second->kernel;
  }
  double share_of_time(double ns) const {
    const double all = options_.profile->wall_ns * plan_.lanes;
    return all > 0 ? 100 * ns / all : 0;
  }
  double share_of_bytes(double bytes) const {
    const Cost cost = plan_.cost();
    const auto all = static_cast<double>(cost.bytes_read + cost.bytes_written);
    return all > 0 ? 100 * bytes / all : 0;
  }

  std::string_view colour_of(const std::string& backend) const {
    const auto at = std::ranges::find(backends_, backend) - backends_.begin();
    return kBackendColours[static_cast<std::size_t>(at) % std::size(kBackendColours)];
  }

  void mark(draw::PictureBox& box, const PlanStep& step, double max_ns, double max_bytes) const {
    const std::string lanes = lanes_text(step, plan_.lanes);
    if (options_.kernels) box.lines.push_back({step.kernel});
    box.lines.push_back({step.backend + (lanes.empty() ? "" : ": " + lanes),
                         draw::PictureLine::Style::small,
                         options_.profile ? "#111827" : std::string(colour_of(step.backend))});
    if (backends_.size() > 1) {
      box.border = colour_of(step.backend);
      box.border_width = 2.5;
    }
    const double ns = ns_of(box), bytes = bytes_of(box);
    if (options_.profile) {
      box.lines.push_back({fmt::format("{}, {:.1f} % of the time", human_ns(ns), share_of_time(ns)),
                           draw::PictureLine::Style::bold});
      box.fill = heat_colour(max_ns > 0 ? ns / max_ns : 0);
      box.border_width = 1 + 5 * (max_bytes > 0 ? std::sqrt(bytes / max_bytes) : 0);
    } else if (options_.bytes_heat) {
      box.lines.push_back(
          {fmt::format("{}, {:.1f} % of all bytes", bytes_text(bytes), share_of_bytes(bytes)),
           draw::PictureLine::Style::bold});
      box.fill = heat_colour(max_bytes > 0 ? bytes / max_bytes : 0);
    }
  }

  BoxFacts facts_of(const draw::PictureBox& box) const {
    BoxFacts facts{.name = box.name, .paths = {}, .rows = {}};
    for (const NodeId id : box.nodes) facts.paths.push_back(graph_[id].path);
    const NodeId id = box.nodes.front();
    const Node& node = graph_[id];
    const auto row = [&](std::string key, std::string value) {
      facts.rows.emplace_back(std::move(key), std::move(value));
    };
    row("path", box.nodes.size() == 1
                    ? node.path
                    : fmt::format("{} and {} more", node.path, box.nodes.size() - 1));
    row("is", node.op ? std::string(node.op->name) : std::string(to_string(node.kind)));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode) continue;
      const Node& in = graph_[node.inputs[i]];
      row(std::string(node.op->input(i).name),
          fmt::format("{} {}", draw::spec_text(graph_, in.spec), in.path));
    }
    row("gives", fmt::format("{}, {}", draw::spec_text(graph_, node.spec, true),
                             human_bytes(node.spec.bytes())));
    if (node.op && node.attrs.to_json() != "{}") row("attributes", node.attrs.to_json());
    if (!node.made_by.empty()) row("made by", node.made_by);
    plan_rows(box, id, row);
    row("built at", to_string(node.where));
    return facts;
  }

  template <class Row>
  void plan_rows(const draw::PictureBox& box, NodeId id, Row row) const {
    const Placement& p = plan_.placements[id];
    if (p.place == Place::arena) {
      const std::int64_t end = p.offset + p.copies * align_up(p.bytes);
      row("arena",
          fmt::format(
              "{:#x} to {:#x}, stages {} to {}{}{}", p.offset, end, p.first_stage, p.last_stage,
              p.copies > 1 ? fmt::format(", {} copies", p.copies) : "",
              p.in_place_over == kNoNode ? "" : ", in place over " + graph_[p.in_place_over].path));
    }
    const PlanStep* step = step_of(box);
    if (!step) return;
    const std::string lanes = lanes_text(*step, plan_.lanes);
    row("runs", fmt::format("{}, stage {}{}{}", step->backend, step->stage,
                            lanes.empty() ? "" : ", ", lanes));
    row("kernel", step->kernel);
    const auto n = static_cast<double>(box.nodes.size());
    const char* each = box.nodes.size() > 1 ? " each" : "";
    row("bytes at the bounds",
        fmt::format("{} read, {} written", human_bytes(step->cost.bytes_read),
                    human_bytes(step->cost.bytes_written)));
    row("multiply-adds at the bounds", fmt::format("{}", step->cost.multiply_adds));
    if (!options_.profile) return;
    const double ns = ns_of(box), bytes = bytes_of(box);
    row("time", fmt::format("{}{}, {:.2f} % of the step{}", human_ns(ns / n), each,
                            share_of_time(ns), n > 1 ? " together" : ""));
    row("bytes", fmt::format("{}{}", bytes_text(bytes / n), each));
    if (const std::string* other = other_kernel(*step)) row("measured with", *other);
    if (ns > 0) row("rate per worker", fmt::format("{:.1f} GB/s", bytes / ns));
  }

  void legend(draw::Picture& picture) const {
    if (options_.profile || options_.bytes_heat) {
      picture.legend = {{options_.profile ? "min time" : "min bytes", heat_colour(0), "#6b7280"},
                        {options_.profile ? "max time" : "max bytes", heat_colour(1), "#6b7280"}};
      if (options_.profile)
        picture.legend.push_back({"thicker border: more bytes", "#ffffff", "#6b7280"});
    }
    for (const std::string& backend : backends_)
      picture.legend.push_back({"backend " + backend, "#ffffff", std::string(colour_of(backend))});
    picture.facts += fmt::format(", {} lanes, {} joins", plan_.lanes, plan_.joins());
    if (options_.profile) {
      picture.facts += fmt::format(", {} a step, mean of {} steps",
                                   human_ns(options_.profile->wall_ns), options_.profile->steps);
      const auto others = std::ranges::count_if(
          plan_.steps, [&](const PlanStep& step) { return other_kernel(step) != nullptr; });
      if (others > 0)
        picture.facts += fmt::format(", {} nodes measured with other kernels", others);
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  const NoteOptions& options_;
  const PerNode<const PlanStep*> steps_;
  std::vector<std::string> backends_;
  std::map<std::string_view, const ProfiledNode*> profiled_;
};

}  // namespace

std::vector<BoxFacts> add_notes(draw::Picture& picture, const Graph& graph, const Plan& plan,
                                const NoteOptions& options) {
  return Notes(graph, plan, options).add(picture);
}

draw::LayersAlike steps_alike(const Plan& plan) {
  std::map<std::int64_t, std::string> text;  // by layer
  for (const PlanStep& step : plan.steps) {
    const LayerPath path = parse_part_path(step.path);
    if (path.layer == kNoLayer) continue;
    text[path.layer] += fmt::format("{} {} {} {} {}\n", path.rest, step.backend, step.kernel,
                                    to_string(step.split), step.lane);
  }
  return [text = std::move(text)](std::int64_t a, std::int64_t b) {
    const auto of = [&](std::int64_t layer) {
      const auto found = text.find(layer);
      return found == text.end() ? std::string() : found->second;
    };
    return of(a) == of(b);
  };
}

std::string plan_dot(const Graph& graph, const Plan& plan, std::string title) {
  draw::Picture picture =
      draw::picture_of(graph, {.title = std::move(title), .may_fold = steps_alike(plan)});
  add_notes(picture, graph, plan, {});
  return draw::to_dot(picture);
}

}  // namespace weft
