#include "pictures/piece_picture.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/pieces.h"
#include "weft/scheduler/timeline.h"

#include "profiles/profile_file.h"

namespace weft::tools {
namespace {

constexpr const char* kLaneColours[] = {"#dbeafe", "#fef3c7", "#d1fae5", "#fce7f3",
                                        "#ede9fe", "#fee2e2", "#ccfbf1", "#e5e7eb"};
constexpr std::size_t kMaxLines = 12;  // per box

// The layer of a path "blk.N.x" and the rest of the path; -1 and the whole path if there is none.
std::pair<std::int64_t, std::string> split_path(const std::string& path) {
  if (!path.starts_with("blk.")) return {-1, path};
  const std::size_t dot = path.find('.', 4);
  if (dot == std::string::npos || dot == 4 || dot > 12) return {-1, path};
  std::int64_t layer = 0;
  for (std::size_t i = 4; i < dot; ++i) {
    if (path[i] < '0' || path[i] > '9') return {-1, path};
    layer = layer * 10 + (path[i] - '0');
  }
  return {layer, path.substr(dot + 1)};
}

class PiecePainter {
 public:
  PiecePainter(const Graph& graph, const Plan& plan, const PiecePictureOptions& options)
      : plan_(plan), options_(options), groups_(pieces_of(plan)) {
    for (const LaneWork& work : estimate_timeline(graph, plan).work)
      lane_ns_[{work.step, work.lane}] = work.end_ns - work.begin_ns;
    for (const PieceGroup& group : groups_) signatures_.push_back(signature(group));
  }

  draw::Picture paint() {
    choose_groups();
    picture_.title = options_.title;
    picture_.facts = fmt::format("executor {}: {}", to_string(plan_.replay), plan_.replay_reason);
    for (int lane = 0; lane < plan_.lanes; ++lane)
      picture_.legend.push_back({fmt::format("lane {}", lane), colour(lane), "#9ca3af"});
    std::vector<std::string> before = {add_oval("start", "start")};
    for (const Drawn& drawn : drawn_) {
      add_edges_from_skipped(drawn, before);
      before = add_group(drawn, before);
    }
    if (skipped_at_end_ > 0) before = {add_skipped(skipped_at_end_, before)};
    connect(before, {add_oval("end", "end")});
    return std::move(picture_);
  }

 private:
  // A group, later groups that are equal to it, and how many groups before it are not shown.
  struct Drawn {
    std::size_t group = 0;
    std::vector<std::int64_t> alike;  // with `group` itself
    std::size_t skipped_before = 0;
    std::size_t period = 0;  // period of the fold that ends with this group; 0: none ends here
  };

  static const char* colour(int lane) {
    return kLaneColours[static_cast<std::size_t>(lane) % std::size(kLaneColours)];
  }

  // Lowest layer of a group; none if it has steps of no layer.
  std::optional<std::int64_t> layer_of(const PieceGroup& group) const {
    std::optional<std::int64_t> lowest;
    for (const Piece& piece : group) {
      for (const std::size_t step : piece.steps) {
        const std::int64_t layer = split_path(plan_.steps[step].path).first;
        if (layer >= 0) lowest = std::min(layer, lowest.value_or(layer));
      }
    }
    return lowest;
  }

  bool is_wanted(const PieceGroup& group) const {
    if (options_.last_layer < 0 && options_.first_layer == 0) return true;
    for (const Piece& piece : group) {
      for (const std::size_t step : piece.steps) {
        const std::int64_t layer = split_path(plan_.steps[step].path).first;
        if (layer >= options_.first_layer &&
            (options_.last_layer < 0 || layer <= options_.last_layer))
          return true;
      }
    }
    return false;
  }

  // Equal for groups that do the same in other layers.
  std::string signature(const PieceGroup& group) const {
    const std::int64_t base = layer_of(group).value_or(0);
    std::string text;
    for (const Piece& piece : group) {
      text += fmt::format("{} {} {}:", piece.lane, piece.share, piece.copies);
      for (const std::size_t i : piece.steps) {
        const PlanStep& step = plan_.steps[i];
        const auto [layer, rest] = split_path(step.path);
        text += fmt::format(" {}.{} {} {} {}", layer < 0 ? -1 : layer - base, rest,
                            to_string(step.split), step.kernel, part_text(step, piece));
      }
    }
    return text;
  }

  // How many groups from `first` on repeat directly after them, and how often: at least twice.
  std::pair<std::size_t, std::size_t> repetition(std::size_t first) const {
    constexpr std::size_t kMaxPeriod = 16;
    for (std::size_t period = 1; period <= kMaxPeriod; ++period) {
      std::size_t same = 0;
      while (first + period + same < groups_.size() &&
             signatures_[first + same] == signatures_[first + period + same])
        ++same;
      if (same >= period && layer_of(groups_[first])) return {period, same / period + 1};
    }
    return {0, 0};
  }

  void choose_groups() {
    std::size_t skipped = 0;
    for (std::size_t i = 0; i < groups_.size();) {
      if (!is_wanted(groups_[i])) {
        ++skipped, ++i;
        continue;
      }
      const auto [period, times] =
          options_.fold ? repetition(i) : std::pair<std::size_t, std::size_t>();
      for (std::size_t k = 0; k < std::max<std::size_t>(1, period); ++k) {
        Drawn drawn{.group = i + k, .alike = {}, .skipped_before = skipped};
        for (std::size_t n = 0; n < std::max<std::size_t>(1, times); ++n)
          drawn.alike.push_back(static_cast<std::int64_t>(i + k + n * period));
        if (k + 1 == period) drawn.period = period;
        drawn_.push_back(std::move(drawn));
        skipped = 0;
      }
      i += period > 0 ? period * times : 1;
    }
    skipped_at_end_ = skipped;
  }

  std::string add_oval(const std::string& name, const std::string& title) {
    picture_.boxes.push_back({.name = name,
                              .key = name,
                              .title = title,
                              .form = draw::PictureBox::Form::oval,
                              .placeholder = true,
                              .fill = "#f3f4f6",
                              .border = "#6b7280"});
    return name;
  }

  std::string add_skipped(std::size_t n, const std::vector<std::string>& before) {
    const std::string name = add_oval(fmt::format("skipped{}", picture_.boxes.size()),
                                      fmt::format("{} groups of other layers", n));
    connect(before, {name});
    return name;
  }

  void add_edges_from_skipped(const Drawn& drawn, std::vector<std::string>& before) {
    if (drawn.skipped_before > 0) before = {add_skipped(drawn.skipped_before, before)};
  }

  // Draws a group after the previous one; returns the names of its boxes.
  std::vector<std::string> add_group(const Drawn& drawn, const std::vector<std::string>& before) {
    const PieceGroup& group = groups_[drawn.group];
    const auto cluster = static_cast<std::int32_t>(picture_.clusters.size());
    picture_.clusters.push_back(
        {.layers = drawn.alike, .label = fmt::format("stage {}", group.front().stage)});
    std::vector<std::string> names;
    for (const Piece& piece : group) {
      names.push_back(fmt::format("p{}_{}", drawn.group, names.size()));
      picture_.boxes.push_back(box_of(piece, names.back(), cluster));
    }
    connect(before, names);
    if (drawn.period > 0) {
      const std::string first = fmt::format("p{}_0", drawn.group + 1 - drawn.period);
      picture_.edges.push_back({.from = names.front(),
                                .to = first,
                                .label = fmt::format("{} times", drawn.alike.size()),
                                .kind = draw::PictureEdge::Kind::next_layer,
                                .upwards = true});
    }
    return names;
  }

  void connect(const std::vector<std::string>& before, const std::vector<std::string>& after) {
    if (!needs_join_node(before.size(), after.size())) {
      for (const std::string& from : before) {
        for (const std::string& to : after) picture_.edges.push_back({.from = from, .to = to});
      }
      return;
    }
    const std::string join = add_oval(fmt::format("join{}", picture_.boxes.size()), "join");
    for (const std::string& from : before) picture_.edges.push_back({.from = from, .to = join});
    for (const std::string& to : after) picture_.edges.push_back({.from = join, .to = to});
  }

  std::string part_text(const PlanStep& step, const Piece& piece) const {
    const int shares = plan_.shares_in(piece.stage), part = piece.lane * shares + piece.share;
    if (step.split == Split::one) return "all";
    if (step.split == Split::copies) return "copy";
    if (step.split == Split::rows) return fmt::format("rows {}/{}", part + 1, plan_.lanes * shares);
    const auto& parts = step.parts.empty() ? step.cols : step.parts;
    std::string text;
    for (const ColRange& r : parts[static_cast<std::size_t>(part)])
      text += fmt::format("{}{}-{}", text.empty() ? "" : " ", r.begin, r.end - 1);
    return text;
  }

  // A rough estimate: the share's part of the lane's time.
  double ns_of(const Piece& piece) const {
    double ns = 0;
    for (const std::size_t step : piece.steps) {
      const auto at = lane_ns_.find({step, piece.lane});
      if (at == lane_ns_.end()) continue;
      ns += piece.copies ? at->second : at->second / plan_.shares_in(piece.stage);
    }
    return ns;
  }

  draw::PictureBox box_of(const Piece& piece, const std::string& name, std::int32_t cluster) const {
    draw::PictureBox box{.name = name,
                         .key = name,
                         .cluster = cluster,
                         .title = fmt::format("lane {}", piece.lane),
                         .fill = colour(piece.lane),
                         .border = "#9ca3af",
                         .tooltip = piece.name()};
    if (piece.copies) {
      box.title += ", copies";
    } else if (plan_.shares_in(piece.stage) > 1) {
      box.title += fmt::format(", share {}", piece.share);
    }
    box.title += ": " + human_ns(ns_of(piece));
    for (const std::size_t i : piece.steps) {
      if (box.lines.size() == kMaxLines) {
        box.lines.push_back({fmt::format("and {} more", piece.steps.size() - kMaxLines)});
        break;
      }
      const PlanStep& step = plan_.steps[i];
      box.lines.push_back({fmt::format("{}  [{}]", step.path, part_text(step, piece))});
    }
    return box;
  }

  const Plan& plan_;
  const PiecePictureOptions& options_;
  const std::vector<PieceGroup> groups_;
  std::vector<std::string> signatures_;  // by group
  std::map<std::pair<std::size_t, int>, double> lane_ns_;
  std::vector<Drawn> drawn_;
  std::size_t skipped_at_end_ = 0;
  draw::Picture picture_;
};

}  // namespace

draw::Picture picture_of_pieces(const Graph& graph, const Plan& plan,
                                const PiecePictureOptions& options) {
  return PiecePainter(graph, plan, options).paint();
}

}  // namespace weft::tools
