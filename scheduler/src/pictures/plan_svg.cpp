#include "weft/scheduler/plan_svg.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/base/human_numbers.h"
#include "weft/draw/dot.h"
#include "weft/graph/layer_path.h"
#include "weft/scheduler/budget.h"

namespace weft {
namespace {

constexpr double kLeft = 90, kTop = 120, kArena = 420, kGap = 70, kLane = 46, kLaneGap = 8;
// Colours of ops, in the order in which the plan names them.
constexpr std::string_view kColours[] = {"#93c5fd", "#fde68a", "#c4b5fd", "#86efac", "#fdba74",
                                         "#f9a8d4", "#67e8f9", "#d9f99d", "#fca5a5", "#a5b4fc",
                                         "#fcd34d", "#99f6e4", "#e9d5ff", "#bef264"};

// Line by line.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) out += '\n';
    out += draw::markup_text(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

class Painter {
 public:
  Painter(const Graph& graph, const Plan& plan, const PlanPicture& options)
      : graph_(graph), plan_(plan), options_(options) {
    choose_steps();
    for (const PlanStep& step : plan.steps) {
      if (!colours_.contains(step.op))
        colours_[step.op] = kColours[colours_.size() % std::size(kColours)];
    }
    const double n = std::max(1.0, static_cast<double>(last_ - first_));
    width_ = std::clamp(n * 24, 900.0, std::max(1800.0, n * 5));
  }

  std::string paint() {
    arena();
    const double lanes_top = kTop + kArena + kGap;
    lanes(lanes_top);
    const double height = lanes_top + lane_count() * (kLane + kLaneGap) + 60;
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
               "font-size=\"10\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
               kLeft + width_ + 30, height) +
           head() + out_ + "</svg>\n";
  }

 private:
  // The steps from the first to the last of the wanted layers.
  void choose_steps() {
    last_ = plan_.steps.size();
    if (options_.last_layer < 0) return;
    const auto wanted = [&](const PlanStep& step) {
      const std::int64_t layer = parse_layer_path(step.path).layer;
      return layer >= options_.first_layer && layer <= options_.last_layer;
    };
    const auto begin = plan_.steps.begin(), end = plan_.steps.end();
    const auto first = std::find_if(begin, end, wanted);
    if (first == end) return;
    first_ = static_cast<std::size_t>(first - begin);
    const auto last = std::find_if(plan_.steps.rbegin(), plan_.steps.rend(), wanted);
    last_ = plan_.steps.size() - static_cast<std::size_t>(last - plan_.steps.rbegin());
  }

  void text(double x, double y, std::string_view what, std::string_view more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, escaped(what));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                        y1, x2, y2, style);
  }
  // With a tooltip, and as much of its label as fits.
  void rect(double x, double y, double w, double h, std::string_view fill, std::string_view label,
            const std::string& hint) {
    out_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
        "fill=\"{}\" stroke=\"#374151\" stroke-width=\"0.4\"/>",
        escaped(hint), x, y, w, std::max(h, 0.5), fill);
    const auto fits = static_cast<std::size_t>(std::max(0.0, (w - 4) / 5.6));
    // The layer is written below.
    if (label.size() > fits) label = parse_layer_path(label).rest;
    if (h >= 10 && fits >= 4) {
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" pointer-events=\"none\">{}</text>",
                          x + 2, y + std::min(h / 2 + 4, h - 2), escaped(label.substr(0, fits)));
    }
    out_ += "</g>\n";
  }

  std::string title() const {
    return options_.title.empty() ? "plan " + plan_.name : options_.title;
  }
  std::string facts() const {
    if (!options_.facts.empty()) return options_.facts;
    return fmt::format("{} steps, {} stages, {} joins", plan_.steps.size(), plan_.stages,
                       plan_.joins());
  }

  std::string head() {
    std::string body = std::move(out_);
    out_.clear();
    text(12, 24, title(), " font-size=\"18\" font-weight=\"bold\"");
    double y = 42;
    const std::string lines = facts();
    for (std::size_t begin = 0; begin < lines.size(); y += 14) {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size());
      text(12, y, lines.substr(begin, end - begin), " font-size=\"11\"");
      begin = end + 1;
    }
    double x = 12;
    for (const auto& [op, colour] : colours_) {
      const double w = 14 + 5.8 * static_cast<double>(op.size());
      if (x + w > kLeft + width_) break;
      rect(x, y - 6, w, 14, colour, op, op);
      x += w + 4;
    }
    std::string head = std::move(out_);
    out_ = std::move(body);
    return head;
  }

  std::string_view colour_of(NodeId id) const {
    const Node& node = graph_[id];
    const auto found = node.op ? colours_.find(std::string(node.op->name)) : colours_.end();
    return found == colours_.end() ? "#e5e7eb" : found->second;
  }

  // ---- the arena: steps to the right, bytes upwards

  double x_of_step(std::size_t step) const {
    const double n = std::max(1.0, static_cast<double>(last_ - first_));
    const double at = static_cast<double>(step) - static_cast<double>(first_);
    return kLeft + width_ * std::clamp(at / n, 0.0, 1.0);
  }
  double y_of_byte(std::int64_t byte) const {
    const auto all = static_cast<double>(std::max<std::int64_t>(plan_.arena_bytes, 1));
    return kTop + kArena * (1 - static_cast<double>(byte) / all);
  }

  void arena() {
    text(kLeft, kTop - 8, "arena: bytes upwards, steps to the right; dashed lines are joins",
         " fill=\"#4b5563\"");
    // First and one past the last step of each stage.
    std::vector<std::pair<std::size_t, std::size_t>> steps(static_cast<std::size_t>(plan_.stages),
                                                           {plan_.steps.size(), 0});
    const auto step_of = plan_.steps_by_node();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      auto& [first, last] = steps[static_cast<std::size_t>(plan_.steps[i].stage)];
      first = std::min(first, i);
      last = i + 1;
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Placement& p = plan_.placements[id];
      if (p.place != Place::arena || is_device(p.memory) || steps.empty()) continue;
      std::size_t begin = steps[static_cast<std::size_t>(p.first_stage)].first;
      const std::size_t end = steps[static_cast<std::size_t>(p.last_stage)].second;
      if (p.in_place_over != kNoNode)
        begin = std::max(begin, static_cast<std::size_t>(step_of[id] - plan_.steps.data()));
      tensor(id, p, begin, end);
    }
    for (const auto& [first, last] : steps) {
      if (first > first_ && first < last_)
        line(x_of_step(first), kTop, x_of_step(first), kTop + kArena,
             "stroke=\"#dc2626\" stroke-width=\"0.6\" stroke-dasharray=\"3 3\"");
    }
    axis();
  }

  void tensor(NodeId id, const Placement& p, std::size_t begin, std::size_t end) {
    if (end <= first_ || begin >= last_) return;
    const std::int64_t bytes = align_up(p.bytes);
    for (int copy = 0; copy < p.copies; ++copy) {
      const std::int64_t from = p.offset + copy * bytes;
      const double x = x_of_step(begin), top = y_of_byte(from + bytes);
      rect(
          x, top, x_of_step(end) - x, y_of_byte(from) - top, colour_of(id), graph_[id].path,
          fmt::format(
              "{}\n{:#x} to {:#x}, {}{}\nstages {} to {}{}", graph_[id].path, from, from + bytes,
              human_bytes(bytes), p.copies > 1 ? fmt::format(", copy of lane {}", copy) : "",
              p.first_stage, p.last_stage,
              p.in_place_over == kNoNode ? "" : "\nin place over " + graph_[p.in_place_over].path));
    }
  }

  void axis() {
    for (int i = 0; i <= 4; ++i) {
      const std::int64_t byte = plan_.arena_bytes * i / 4;
      text(kLeft - 6, y_of_byte(byte) + 4, human_bytes(byte), " text-anchor=\"end\"");
    }
    const double y = y_of_byte(plan_.arena_lower_bound);
    line(kLeft, y, kLeft + width_, y, "stroke=\"#16a34a\" stroke-width=\"1.2\"");
    text(kLeft + width_, y - 3,
         fmt::format("max live bytes in one stage: {}", human_bytes(plan_.arena_lower_bound)),
         " text-anchor=\"end\" fill=\"#15803d\"");
    line(kLeft, kTop + kArena, kLeft + width_, kTop + kArena, "stroke=\"#374151\"");
    // The positions of the layers.
    std::int64_t before = -2;
    double free = 0;
    for (std::size_t i = first_; i < last_; ++i) {
      const std::int64_t layer = parse_layer_path(plan_.steps[i].path).layer;
      if (layer == before) continue;
      before = layer;
      if (layer < 0 || x_of_step(i) < free) continue;
      text(x_of_step(i), kTop + kArena + 12, fmt::format("blk.{}", layer));
      free = x_of_step(i) + 40;
    }
  }

  // ---- the lanes: time to the right

  int lane_count() const {
    int n = plan_.lanes;
    if (options_.measured) {
      for (const TimedCall& call : options_.measured->calls) n = std::max(n, call.worker + 1);
    }
    return std::min(n, 64);
  }

  struct Bar {
    int lane;
    std::size_t step;
    double begin, end;
  };
  struct Bars {
    std::vector<Bar> bars;
    std::vector<double> joins;
  };

  Bars estimated() const {
    Bars all;
    const Timeline timeline = estimate_timeline(graph_, plan_);
    for (const LaneWork& work : timeline.work)
      all.bars.push_back({work.lane, work.step, work.begin_ns, work.end_ns});
    all.joins = timeline.joins_ns;
    return all;
  }

  Bars measured(const TimedStep& step) const {
    Bars all;
    std::map<std::string_view, std::size_t> step_of;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) step_of[plan_.steps[i].path] = i;
    std::map<std::int32_t, double> begins;  // begin times by stage
    for (const TimedCall& call : step.calls) {
      const auto found = step_of.find(call.path);
      if (found == step_of.end() || call.worker < 0 || call.worker >= lane_count()) continue;
      all.bars.push_back({call.worker, found->second, call.begin_ns, call.end_ns});
      const auto [at, is_new] = begins.emplace(call.stage, call.begin_ns);
      if (!is_new) at->second = std::min(at->second, call.begin_ns);
    }
    for (const auto& [stage, begin] : begins) {
      if (stage > 0) all.joins.push_back(begin);
    }
    return all;
  }

  void lanes(double top) {
    Bars all = options_.measured ? measured(*options_.measured) : estimated();
    std::erase_if(all.bars, [&](const Bar& bar) { return bar.step < first_ || bar.step >= last_; });
    double begin = all.bars.empty() ? 0 : all.bars.front().begin, end = begin;
    for (const Bar& bar : all.bars) {
      begin = std::min(begin, bar.begin);
      end = std::max(end, bar.end);
    }
    const auto x = [&](double ns) {
      return kLeft + width_ * (ns - begin) / std::max(end - begin, 1.0);
    };
    const double bottom = top + lane_count() * (kLane + kLaneGap);
    lane_names(top);
    for (const Bar& bar : all.bars) {
      const PlanStep& step = plan_.steps[bar.step];
      rect(x(bar.begin), top + bar.lane * (kLane + kLaneGap), x(bar.end) - x(bar.begin), kLane,
           colour_of(step.node), step.path,
           fmt::format("{}\n{}\nstage {}, {}", step.path, step.kernel, step.stage,
                       human_ns(bar.end - bar.begin)));
    }
    for (const double at : all.joins) {
      if (at > begin && at < end)
        line(x(at), top - 3, x(at), bottom, "stroke=\"#dc2626\" stroke-width=\"0.8\"");
    }
    for (int i = 0; i <= 8; ++i) {
      const double ns = begin + (end - begin) * i / 8;
      text(x(ns), bottom + 12, human_ns(ns), i == 8 ? " text-anchor=\"end\"" : "");
    }
    text(kLeft, bottom + 30, "red lines are joins: lanes wait for each other there",
         " fill=\"#4b5563\"");
  }

  void lane_names(double top) {
    text(kLeft, top - 8,
         options_.measured ? "lanes: time of the measured step of median length, to the right"
                           : "lanes: estimated time to the right",
         " fill=\"#4b5563\"");
    for (int lane = 0; lane < lane_count(); ++lane)
      text(kLeft - 6, top + lane * (kLane + kLaneGap) + kLane / 2 + 4,
           fmt::format("{} {}", options_.measured ? "worker" : "lane", lane),
           " text-anchor=\"end\"");
  }

  const Graph& graph_;
  const Plan& plan_;
  const PlanPicture& options_;
  std::size_t first_ = 0, last_ = 0;  // steps
  double width_ = 0;
  std::map<std::string, std::string_view> colours_;
  std::string out_;
};

}  // namespace

std::string plan_svg(const Graph& graph, const Plan& plan, const PlanPicture& options) {
  return Painter(graph, plan, options).paint();
}

}  // namespace weft
