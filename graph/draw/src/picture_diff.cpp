#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "weft/draw/picture.h"

namespace weft::draw {
namespace {

constexpr std::string_view kAdded = "#16a34a", kGone = "#dc2626", kChanged = "#ca8a04",
                           kSame = "#9ca3af";
constexpr std::string_view kAddedFill = "#bbf7d0", kGoneFill = "#fecaca", kChangedFill = "#fef08a",
                           kSameFill = "#f9fafb";

void colour(PictureBox& box, std::string_view border, std::string_view fill) {
  box.border = border;
  box.fill = fill;
  box.border_width = border == kSame ? 1 : 2;
}

// Keeps the longest common subsequence of both; other lines of `before` are struck out.
std::vector<PictureLine> merged(const std::vector<PictureLine>& before,
                                const std::vector<PictureLine>& after) {
  const std::size_t n = before.size(), m = after.size();
  std::vector<std::size_t> common((n + 1) * (m + 1));  // of what follows line i and line j
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return common[i * (m + 1) + j];
  };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      at(i, j) =
          before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::vector<PictureLine> lines;
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && before[i] == after[j]) {
      lines.push_back(after[j]);
      ++i, ++j;
    } else if (i < n && (j == m || at(i + 1, j) >= at(i, j + 1))) {
      lines.push_back({before[i++].text, PictureLine::Style::removed});
    } else {
      lines.push_back(after[j++]);
      lines.back().colour = "#15803d";
    }
  }
  return lines;
}

class Merger {
 public:
  Merger(const Picture& before, const Picture& after) : before_(before), picture_(after) {}

  Picture merge() {
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i) index_of_[picture_.boxes[i].key] = i;
    for (PictureBox& box : picture_.boxes) colour(box, kAdded, kAddedFill);
    for (const PictureBox& box : before_.boxes) add(box);
    for (PictureEdge& edge : picture_.edges) edge.colour = kAdded;
    for (const PictureEdge& edge : before_.edges) add(edge);
    picture_.facts =
        fmt::format("{} added, {} removed, {} changed, {} unchanged",
                    picture_.boxes.size() - gone_ - changed_ - same_, gone_, changed_, same_);
    picture_.legend = {{"added", std::string(kAddedFill), std::string(kAdded)},
                       {"gone", std::string(kGoneFill), std::string(kGone)},
                       {"changed", std::string(kChangedFill), std::string(kChanged)},
                       {"the same", std::string(kSameFill), std::string(kSame)}};
    return std::move(picture_);
  }

 private:
  void add(const PictureBox& old) {
    if (const auto found = index_of_.find(old.key); found != index_of_.end()) {
      PictureBox& box = picture_.boxes[found->second];
      const bool same = box.lines == old.lines;
      same ? ++same_ : ++changed_;
      same ? colour(box, kSame, kSameFill) : colour(box, kChanged, kChangedFill);
      if (!same) box.lines = merged(old.lines, box.lines);
      name_of_[old.name] = box.name;
      return;
    }
    ++gone_;
    PictureBox box = old;
    box.name = "gone_" + old.name;
    box.dashed = true;
    if (old.cluster >= 0) box.cluster = cluster_like(static_cast<std::size_t>(old.cluster));
    colour(box, kGone, kGoneFill);
    name_of_[old.name] = box.name;
    picture_.boxes.push_back(std::move(box));
  }

  std::int32_t cluster_like(std::size_t old) {
    const PictureCluster& wanted = before_.clusters[old];
    const auto same = [&](const PictureCluster& c) { return c.layers == wanted.layers; };
    const auto found = std::find_if(picture_.clusters.begin(), picture_.clusters.end(), same);
    const auto index = found - picture_.clusters.begin();
    if (found == picture_.clusters.end()) picture_.clusters.push_back(wanted);
    return static_cast<std::int32_t>(index);
  }

  void add(const PictureEdge& old) {
    PictureEdge edge = old;
    edge.from = name_of_.at(old.from);
    edge.to = name_of_.at(old.to);
    edge.colour = kAdded;
    const auto found = std::find(picture_.edges.begin(), picture_.edges.end(), edge);
    if (found != picture_.edges.end()) {
      found->colour = kSame;
      return;
    }
    edge.colour = kGone;
    picture_.edges.push_back(std::move(edge));
  }

  const Picture& before_;
  Picture picture_;
  std::map<std::string, std::size_t> index_of_;  // of boxes of `after`, by key
  std::map<std::string, std::string> name_of_;   // of boxes of `before`
  std::size_t gone_ = 0, changed_ = 0, same_ = 0;
};

}  // namespace

Picture difference(const Picture& before, const Picture& after) {
  return Merger(before, after).merge();
}

}  // namespace weft::draw
