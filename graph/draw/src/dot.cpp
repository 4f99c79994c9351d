#include "weft/draw/dot.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "weft/base/utf8.h"

namespace weft::draw {
namespace {

// For attributes in quotes; \n begins a line.
std::string quoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = decode_utf8(text, i).length;
    if (text[i] == '\n')
      out += "&#10;";
    else if (text[i] == '\\')
      out += "\\\\";
    else
      out += markup_text(text.substr(i, n));
    i += n;
  }
  return out;
}

std::string line_text(const PictureLine& line) {
  using Style = PictureLine::Style;
  const std::string text = markup_text(line.text);
  const auto font = [&](std::string_view colour, const std::string& inner) {
    return fmt::format("<FONT POINT-SIZE=\"9\" COLOR=\"{}\">{}</FONT>",
                       line.colour.empty() ? colour : line.colour, inner);
  };
  switch (line.style) {
    case Style::plain:
      return fmt::format("<FONT POINT-SIZE=\"10\" COLOR=\"{}\">{}</FONT>",
                         line.colour.empty() ? "#111827" : line.colour, text);
    case Style::bold:
      return font("#374151", "<B>" + text + "</B>");
    case Style::italic:
      return font("#4b5563", "<I>" + text + "</I>");
    case Style::removed:
      return font("#dc2626", "<S>" + text + "</S>");
    case Style::small:
      break;
  }
  return font("#4b5563", text);
}

std::string label_of(const PictureBox& box) {
  std::string text = markup_text(box.title);
  if (!box.placeholder) text = "<B>" + text + "</B>";
  for (const PictureLine& line : box.lines) text += "<BR/>" + line_text(line);
  return text;
}

void write_box(const PictureBox& box, std::string_view indent, std::string& out) {
  std::string more;
  if (box.form == PictureBox::Form::oval) more += ", shape=oval";
  if (box.form == PictureBox::Form::cylinder) more += ", shape=cylinder, style=filled";
  if (box.dashed)
    more += box.form == PictureBox::Form::box ? ", style=\"rounded,filled,dashed\""
                                              : ", style=\"filled,dashed\"";
  if (box.double_border) more += ", peripheries=2";
  if (box.placeholder) more += ", fontsize=9, margin=\"0.04,0.02\"";
  if (box.border_width != 1) more += fmt::format(", penwidth={:.2f}", box.border_width);
  if (!box.tooltip.empty()) more += fmt::format(", tooltip=\"{}\"", quoted(box.tooltip));
  out += fmt::format("{}{} [id=\"{}\", label=<{}>, fillcolor=\"{}\", color=\"{}\"{}];\n", indent,
                     box.name, box.name, label_of(box), box.fill, box.border, more);
}

void write_cluster(const Picture& picture, std::size_t index, std::string& out) {
  const PictureCluster& cluster = picture.clusters[index];
  const std::string count =
      cluster.layers.size() == 1 ? "" : fmt::format("   <B>&#215; {}</B>", cluster.layers.size());
  out += fmt::format(
      "  subgraph cluster_{} {{\n    label=<{}{}>; labeljust=l; fontsize=13; "
      "style=\"rounded,filled\"; fillcolor=\"#fafafa\"; color=\"#d1d5db\"; margin=12;\n",
      cluster.layers.front(), markup_text(cluster.label), count);
  for (const PictureBox& box : picture.boxes) {
    if (box.cluster == static_cast<std::int32_t>(index)) write_box(box, "    ", out);
  }
  out += "  }\n";
}

void write_edge(const PictureEdge& edge, std::string& out) {
  std::string more, colour = edge.colour;
  if (edge.kind == PictureEdge::Kind::elided) more += ", style=dashed";
  if (edge.kind == PictureEdge::Kind::next_layer) {
    more += ", style=dashed";
    if (colour.empty()) colour = "#2563eb";
  }
  if (edge.upwards) more += ", constraint=false";
  if (!colour.empty()) more += fmt::format(", color=\"{0}\", fontcolor=\"{0}\"", colour);
  out += fmt::format("  {} -> {} [label=< {}>{}];\n", edge.from, edge.to, markup_text(edge.label),
                     more);
}

void write_header(const Picture& picture, std::string& out) {
  std::string cells;
  for (const PictureColour& colour : picture.legend) {
    cells += fmt::format("<TD BGCOLOR=\"{}\" COLOR=\"{}\"><FONT POINT-SIZE=\"9\">{}</FONT></TD>",
                         colour.fill, colour.border, markup_text(colour.meaning));
  }
  const std::size_t span = std::max<std::size_t>(1, picture.legend.size());
  out += fmt::format(
      "digraph weft {{\n"
      "  graph [fontname=\"Helvetica\", labelloc=t, rankdir=TB, nodesep=0.3, ranksep=0.35, "
      "newrank=true,\n"
      "    label=<<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"4\" CELLPADDING=\"3\">"
      "<TR><TD BORDER=\"0\" COLSPAN=\"{0}\"><FONT POINT-SIZE=\"18\"><B>{1}</B></FONT></TD></TR>"
      "<TR><TD BORDER=\"0\" COLSPAN=\"{0}\">{2}</TD></TR>{3}</TABLE>>];\n"
      "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
      "margin=\"0.12,0.06\", height=0.3];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9, fontcolor=\"#4b5563\", color=\"#6b7280\", "
      "arrowsize=0.6];\n",
      span, picture.title.empty() ? "graph" : markup_text(picture.title),
      markup_text(picture.facts), cells.empty() ? "" : "<TR>" + cells + "</TR>");
}

}  // namespace

std::string markup_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text, i);
    if (c.code == '&')
      out += "&amp;";
    else if (c.code == '<')
      out += "&lt;";
    else if (c.code == '>')
      out += "&gt;";
    else if (c.code == '"')
      out += "&quot;";
    else if (!c.valid || c.code < 0x20 || c.code == 0x7f)
      out += '?';
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out;
}

std::string to_dot(const Picture& picture) {
  std::string out;
  write_header(picture, out);
  for (std::size_t i = 0; i < picture.clusters.size(); ++i) write_cluster(picture, i, out);
  for (const PictureBox& box : picture.boxes) {
    if (box.cluster < 0) write_box(box, "  ", out);
  }
  for (const PictureEdge& edge : picture.edges) write_edge(edge, out);
  return out + "}\n";
}

std::string to_dot(const Graph& graph, const PictureOptions& options) {
  return to_dot(picture_of(graph, options));
}

}  // namespace weft::draw
