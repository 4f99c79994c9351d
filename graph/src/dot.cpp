#include "weft/graph/dot.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "layers.h"

namespace weft {
namespace {

// ---- text

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 where it is broken.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t n = byte(0) < 0x80   ? 1
                        : byte(0) < 0xc2 ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf5 ? 4
                                         : 0;
  if (n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  const bool beyond = byte(0) == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : n;
}

// For HTML-like labels, in which dot wants well-formed text.
std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (n == 0 || c < 0x20 || c == 0x7f)
      out += '?';
    else
      out += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string small(std::string_view escaped) {
  return fmt::format("<FONT POINT-SIZE=\"9\" COLOR=\"#4b5563\">{}</FONT>", escaped);
}

// {"pairs":"halves","n":3} -> "pairs halves, n 3", broken into lines of about 40 characters.
std::string attrs_text(const Attrs& attrs) {
  const std::string json = attrs.to_json();
  std::string text;
  std::size_t line = 0;
  for (const char c : std::string_view(json).substr(1, json.size() - 2)) {
    if (c == '"') continue;
    if (c == ',' && text.size() - line > 32) {
      text += ",\n";
      line = text.size();
    } else {
      text += c == ':' ? std::string(" ") : c == ',' ? std::string(", ") : std::string(1, c);
    }
  }
  return text;
}

// ---- what a node looks like

struct Look {
  std::string_view meaning, fill, border;
};

// What an op is to a reader follows from how it reaches into its inputs, not from its name.
constexpr Look kMatrix{"reads a weight matrix", "#dbeafe", "#3b82f6"};
constexpr Look kAcross{"looks across rows", "#ede9fe", "#8b5cf6"};
constexpr Look kGrouped{"per row or head", "#fef9c3", "#ca8a04"};
constexpr Look kElementwise{"elementwise", "#dcfce7", "#22a35a"};
constexpr Look kView{"view, no work", "#ffffff", "#9ca3af"};
constexpr Look kState{"state", "#ffedd5", "#ea580c"};
constexpr Look kInput{"input, output", "#f3f4f6", "#374151"};
constexpr const Look* kLegend[] = {&kMatrix, &kAcross, &kGrouped, &kElementwise,
                                   &kView,   &kState,  &kInput};

const Look& look_of(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::state) return kState;
  if (!node.op) return kInput;
  if (node.op->storage == Storage::view) return kView;
  if (node.op->storage == Storage::state) return kState;
  const auto any = [&](auto holds) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoNode && holds(graph[node.inputs[i]], node.op->input(i))) return true;
    }
    return false;
  };
  if (any([](const Node& in, const OpInput&) {
        return in.kind == NodeKind::weight && in.spec.shape.rank() >= 2;
      })) {
    return kMatrix;
  }
  if (any([](const Node& in, const OpInput& info) {
        const bool computed = in.op || in.kind == NodeKind::state;
        return computed && (info.reach == Reach::col || info.reach == Reach::all);
      })) {
    return kAcross;
  }
  return node.op->col_granule ? kGrouped : kElementwise;
}

// White over orange to red.
std::string heat_colour(double heat) {
  const double h = std::clamp(heat, 0.0, 1.0);
  const auto channel = [&](double cool, double hot) {
    return static_cast<int>(std::lround(cool + (hot - cool) * h));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", 255, channel(255, 90), channel(250, 60));
}

// ---- the writer

class Writer {
 public:
  Writer(const Graph& graph, const DotOptions& options)
      : graph_(graph),
        options_(options),
        layers_(graph),
        runs_(layers_.runs(options.fold, options.first_layer, options.last_layer)),
        run_of_layer_(static_cast<std::size_t>(layers_.count())) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (std::int64_t l = runs_[i].first; l <= runs_[i].last; ++l) {
        run_of_layer_[static_cast<std::size_t>(l)] = i;
      }
    }
    find_shared();
  }

  std::string write() {
    header();
    for (std::size_t i = 0; i < runs_.size(); ++i) cluster(i);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (layers_.of(id) == kNoLayer) box(id, "  ");
    }
    outputs();
    for (NodeId id = 0; id < graph_.size(); ++id) edges_into(id);
    return out_ + "}\n";
  }

 private:
  const LayerRun* run_of(NodeId id) const {
    const std::int64_t layer = layers_.of(id);
    return layer == kNoLayer ? nullptr : &runs_[run_of_layer_[static_cast<std::size_t>(layer)]];
  }

  // Nodes outside the layers that many of them use (angles, cells) get a small stand-in within
  // each: one set of long arrows to everywhere cannot be read, and takes dot minutes to lay out.
  void find_shared() {
    constexpr std::size_t kMostArrows = 2;
    std::vector<std::set<const LayerRun*>> used_by(static_cast<std::size_t>(graph_.size()));
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (const NodeId in : graph_[id].inputs) {
        if (in != kNoNode && run_of(id)) used_by[static_cast<std::size_t>(in)].insert(run_of(id));
      }
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      shared_.push_back(layers_.of(id) == kNoLayer && graph_[id].kind != NodeKind::weight &&
                        used_by[static_cast<std::size_t>(id)].size() > kMostArrows);
    }
  }

  // The name of an edge's source: a shared node is drawn anew in the run that uses it.
  std::string source_name(NodeId in, NodeId user) const {
    const LayerRun* run = run_of(user);
    return shared_[static_cast<std::size_t>(in)] && run ? fmt::format("n{}_in{}", in, run->first)
                                                        : name(in);
  }

  // The node of the picture that stands for a node of the graph.
  std::string name(NodeId id) const {
    const LayerRun* run = run_of(id);
    if (!run) return fmt::format("n{}", id);
    if (run->hidden) return fmt::format("hidden{}", run->first);
    return fmt::format("n{}", layers_.members(run->first)[layers_.place(id)]);
  }

  std::string dim_text(const Dim& dim, bool with_bound) const {
    if (!dim.varies()) return fmt::format("{}", dim.bound);
    const std::string& variable = graph_.variables()[static_cast<std::size_t>(dim.variable)].name;
    return with_bound ? fmt::format("{}<={}", variable, dim.bound) : variable;
  }

  // "[T, 2048]", with the type unless it is the usual one.
  std::string spec_text(const TensorSpec& spec, bool full) const {
    std::string text = full || spec.dtype != f32 ? std::string(spec.dtype.name()) + " [" : "[";
    for (int i = 0; i < spec.shape.rank(); ++i) {
      text += (i ? ", " : "") + dim_text(spec.shape[i], full);
    }
    return text + "]";
  }

  void header() {
    std::string variables;
    for (const Variable& v : graph_.variables()) {
      variables +=
          fmt::format("{}{} &lt;= {}", variables.empty() ? "" : ", ", escape(v.name), v.bound);
    }
    std::string cells;
    for (const Look* look : kLegend) {
      cells += fmt::format("<TD BGCOLOR=\"{}\" COLOR=\"{}\"><FONT POINT-SIZE=\"9\">{}</FONT></TD>",
                           look->fill, look->border, look->meaning);
    }
    const std::string title = options_.title.empty() ? "graph" : escape(options_.title);
    out_ += fmt::format(
        "digraph weft {{\n"
        "  graph [fontname=\"Helvetica\", labelloc=t, rankdir=TB, nodesep=0.3, ranksep=0.35, "
        "newrank=true,\n"
        "    label=<<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"4\" CELLPADDING=\"3\">"
        "<TR><TD BORDER=\"0\" COLSPAN=\"{}\"><FONT POINT-SIZE=\"18\"><B>{}</B></FONT></TD></TR>"
        "<TR><TD BORDER=\"0\" COLSPAN=\"{}\">{} nodes{}{}</TD></TR><TR>{}</TR></TABLE>>];\n"
        "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
        "margin=\"0.12,0.06\", height=0.3];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, fontcolor=\"#4b5563\", color=\"#6b7280\", "
        "arrowsize=0.6];\n",
        std::size(kLegend), title, std::size(kLegend), graph_.size(), variables.empty() ? "" : ", ",
        variables, cells);
  }

  void cluster(std::size_t index) {
    const LayerRun& run = runs_[index];
    const std::string range = run.count() == 1
                                  ? fmt::format("blk.{}", run.first)
                                  : fmt::format("blk.{} .. blk.{}", run.first, run.last);
    if (run.hidden) {
      out_ += fmt::format(
          "  hidden{} [label=\"{}\\n{} not shown\", style=\"rounded,dashed\", "
          "color=\"#6b7280\"];\n",
          run.first, range, run.count() == 1 ? "is" : "are");
      return;
    }
    const std::string count =
        run.count() == 1 ? "" : fmt::format("   <B>&#215; {}</B>", run.count());
    out_ += fmt::format(
        "  subgraph cluster_{} {{\n    label=<{}{}>; labeljust=l; fontsize=13; "
        "style=\"rounded,filled\"; "
        "fillcolor=\"#fafafa\"; color=\"#d1d5db\"; margin=12;\n",
        run.first, range, count);
    for (const NodeId id : layers_.members(run.first)) {
      box(id, "    ");
      for (const NodeId in : graph_[id].inputs) stand_in(in, id);
    }
    out_ += "  }\n";
  }

  void stand_in(NodeId in, NodeId user) {
    if (in == kNoNode || !shared_[static_cast<std::size_t>(in)]) return;
    const std::string line = fmt::format(
        "    {} [label=<{}>, shape=oval, style=dashed, fontsize=9, color=\"{}\"];\n",
        source_name(in, user), escape(graph_[in].path), look_of(graph_, graph_[in]).border);
    if (seen_.insert(line).second) out_ += line;
  }

  // Lines for the weights of an op: their names are left out where the op is named after them.
  std::string weight_lines(const Node& node) const {
    std::string lines;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode || graph_[node.inputs[i]].kind != NodeKind::weight) continue;
      const Node& w = graph_[node.inputs[i]];
      const bool implied = w.path == node.path + ".weight";
      const std::string_view called = implied ? node.op->input(i).name : within_layer(w.path);
      lines += "<BR/>" + small(escape(called) + "  <I>" + escape(spec_text(w.spec, true)) + "</I>");
    }
    return lines;
  }

  std::string label(NodeId id) const {
    const Node& node = graph_[id];
    const std::string_view own = within_layer(node.path);
    std::string text = fmt::format("<B>{}</B>", escape(own));
    if (!node.op) return text + "<BR/>" + small(escape(spec_text(node.spec, true)));
    if (!own.starts_with(node.op->name)) text += "<BR/>" + escape(node.op->name);
    text += weight_lines(node);
    std::string attrs = attrs_text(node.attrs);
    for (std::size_t begin = 0; begin < attrs.size();) {
      const std::size_t end = std::min(attrs.find('\n', begin), attrs.size());
      text += "<BR/>" + small(escape(std::string_view(attrs).substr(begin, end - begin)));
      begin = end + 1;
    }
    if (!node.made_by.empty()) text += "<BR/>" + small("<I>by " + escape(node.made_by) + "</I>");
    const DotNote* note = this->note(id);
    if (note && !note->text.empty()) text += "<BR/>" + small("<B>" + escape(note->text) + "</B>");
    return text;
  }

  const DotNote* note(NodeId id) const {
    const auto i = static_cast<std::size_t>(id);
    return i < options_.notes.size() ? &options_.notes[i] : nullptr;
  }

  void box(NodeId id, std::string_view indent) {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::weight) return;
    const Look& look = look_of(graph_, node);
    const DotNote* hot = note(id);
    const std::string fill =
        hot && hot->heat >= 0 ? heat_colour(hot->heat) : std::string(look.fill);
    std::string_view shape = "";
    if (node.kind == NodeKind::input) shape = ", shape=oval";
    if (node.kind == NodeKind::state) shape = ", shape=cylinder, style=filled";
    if (node.op && node.op->storage == Storage::view) shape = ", style=\"rounded,filled,dashed\"";
    out_ += fmt::format("{}n{} [label=<{}>, fillcolor=\"{}\", color=\"{}\"{}{}];\n", indent, id,
                        label(id), fill, look.border, shape,
                        node.made_by.empty() ? "" : ", peripheries=2");
  }

  void outputs() {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Graph::Output& output = graph_.outputs()[i];
      const TensorSpec& spec = graph_[output.node].spec;
      out_ += fmt::format(
          "  out{} [label=<<B>{}</B><BR/>{}>, shape=oval, fillcolor=\"{}\", color=\"{}\", "
          "peripheries=2];\n",
          i, escape(output.name), small(escape(spec_text(spec, true))), kInput.fill, kInput.border);
      out_ += fmt::format("  {} -> out{};\n", name(output.node), i);
    }
  }

  void edges_into(NodeId id) {
    const Node& node = graph_[id];
    const auto is_drawn = [&](NodeId in) {
      return in != kNoNode && graph_[in].kind != NodeKind::weight;
    };
    const auto n_drawn = std::count_if(node.inputs.begin(), node.inputs.end(), is_drawn);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId in = node.inputs[i];
      if (!is_drawn(in)) continue;
      const std::string from = source_name(in, id), to = name(id);
      const LayerRun *source = run_of(in), *target = run_of(id);
      if (from == to) continue;  // within a run that is not shown
      if (target && target->hidden && shared_[static_cast<std::size_t>(in)]) continue;
      // From one layer of a folded run to the next: it leads back up.
      const bool next_layer = source && source == target && layers_.of(in) != layers_.of(id);
      const bool elided = (source && source->hidden) || (target && target->hidden);
      const std::string role =
          n_drawn > 1 && !elided ? std::string(node.op->input(i).name) + " " : "";
      const std::string style =
          next_layer ? ", style=dashed, constraint=false, color=\"#2563eb\", fontcolor=\"#2563eb\""
          : elided   ? ", style=dashed"
                     : "";
      const std::string text = next_layer ? "next layer" : role + spec_text(graph_[in].spec, false);
      std::string edge =
          fmt::format("  {} -> {} [label=< {}>{}];\n", from, to, escape(text), style);
      if (seen_.insert(edge).second) out_ += edge;
    }
  }

  const Graph& graph_;
  const DotOptions& options_;
  Layers layers_;
  std::vector<LayerRun> runs_;
  std::vector<std::size_t> run_of_layer_;
  std::vector<bool> shared_;    // by NodeId
  std::set<std::string> seen_;  // lines written once
  std::string out_;
};

}  // namespace

std::string to_dot(const Graph& graph, const DotOptions& options) {
  return Writer(graph, options).write();
}

}  // namespace weft
