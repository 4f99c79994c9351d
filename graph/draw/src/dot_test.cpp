#include "weft/draw/dot.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/graph/pass.h"

#include "layers.h"
#include "support/temp_folder.h"

namespace weft::draw {
namespace {

struct GainAttrs {
  float gain = 1;
  static constexpr auto fields() { return std::tuple{field("gain", &GainAttrs::gain)}; }
};
TensorSpec infer_same(const Attrs&, Specs in) {
  return in[0];
}
constexpr OpInput kInputs[] = {{"x"}, {"w", Reach::all, true}, {"y", Reach::row, true}};
const OpDef kBlend{
    .name = "blend", .inputs = kInputs, .attrs = &kAttrsType<GainAttrs>, .infer = infer_same};

Tensor blend(Tensor x, Tensor w, Tensor y, float gain) {
  const Tensor in[] = {x, w, y};
  return x.graph().add(kBlend, in, GainAttrs{gain}, std::source_location::current());
}

// Layers of two ops: gains per layer, one shared input.
Graph layered(const std::vector<float>& gains, std::string_view part = "") {
  Graph g;
  const Dim t = g.variable("T", 512);
  Tensor h = g.input("tokens", {f32, {t, 8}});
  const Tensor shared = g.input("angles", {f32, {t, 8}});
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const std::string layer = fmt::format("{}blk.{}", part, i);
    Graph::Scope scope(g, layer);
    const Tensor w = g.weight(layer + ".blend.weight", {f16, {8, 8}});
    h = blend(h, w, shared, gains[i]);
    h = blend(h, {}, h, 1).named("out");
  }
  g.output("logits", h);
  check(g);
  return g;
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// What Graphviz says about a picture: empty if it accepts it; nullopt, with a message, if it
// is not installed.
std::optional<std::string> complaints(const std::string& dot) {
  if (std::system("dot -V > /dev/null 2>&1") != 0) {
    MESSAGE("skipped: Graphviz is not installed");
    return std::nullopt;
  }
  const test::TempFolder dir;
  std::ofstream(dir / "g.dot") << dot;
  const std::string in = (dir / "g.dot").string(), err = (dir / "err").string();
  const int code = std::system(fmt::format("dot -Tsvg '{}' > /dev/null 2> '{}'", in, err).c_str());
  std::ifstream file(err);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (code != 0) text += fmt::format("exit code {}", code);
  return text;
}

TEST_CASE("identical layers fold into one cluster with a count") {
  const Graph g = layered({1, 1, 1, 1, 1});
  const std::string dot = to_dot(g, {.title = "five"});
  CHECK(times(dot, "subgraph cluster_") == 1);
  CHECK(times(dot, "blk.0 .. blk.4") == 1);
  CHECK(times(dot, "&#215; 5") == 1);
  CHECK(times(dot, "next layer") == 1);
  CHECK(times(to_dot(g, {.fold = Fold::none}), "subgraph cluster_") == 5);
}

TEST_CASE("the layers of a part are clusters, those of another part are not") {
  Graph g = layered({1, 1, 1}, "enc.");
  Tensor h = g.input("more", {f32, {4, 8}});
  for (int i = 0; i < 2; ++i) {
    Graph::Scope scope(g, fmt::format("dec.blk.{}", i));
    h = blend(h, {}, h, 1).named("keys");
  }
  g.output("keys", h);
  const std::string dot = to_dot(g);
  CHECK(times(dot, "subgraph cluster_") == 1);
  CHECK(times(dot, "enc.blk.0 .. enc.blk.2") == 1);
  CHECK(times(dot, "<B>out</B>") == 1);
  CHECK(times(dot, "<B>dec.blk.1.keys</B>") == 1);
}

TEST_CASE("layers that differ in an attribute, or in wiring, do not fold") {
  const auto runs = [](const Graph& g) {
    return Layers(g).groups({.fold = Fold::neighbours}).size();
  };
  CHECK(runs(layered({1, 1, 2, 2, 1})) == 3);
  CHECK(runs(layered({1, 1, 1, 1})) == 1);

  Graph g;  // alternating shared inputs
  Tensor h = g.input("h", {f32, {4, 8}});
  const Tensor odd = g.input("odd", {f32, {4, 8}}), even = g.input("even", {f32, {4, 8}});
  for (int i = 0; i < 4; ++i) {
    Graph::Scope scope(g, fmt::format("blk.{}", i));
    h = blend(h, {}, i % 2 ? odd : even, 1);
  }
  CHECK(runs(g) == 4);
}

TEST_CASE("a cache named elsewhere belongs to the one layer that uses it") {
  Graph g;
  const Tensor h = g.input("h", {f32, {4, 8}});
  const Tensor own = g.state("cache.0", {f32, {4, 8}}), both = g.state("cache", {f32, {4, 8}});
  for (int i = 0; i < 2; ++i) {
    Graph::Scope scope(g, fmt::format("blk.{}", i));
    blend(i ? h : own, {}, both, 1);
  }
  const Layers layers(g);
  CHECK(layers.of(own.id()) == 0);
  CHECK(layers.of(both.id()) == kNoLayer);
}

TEST_CASE("identical layers that are not adjacent are drawn once, with their numbers") {
  const Graph g = layered({1, 1, 2, 1, 2, 2, 1});
  const std::string dot = to_dot(g);
  CHECK(times(dot, "subgraph cluster_") == 2);
  CHECK(times(dot, "blk.0-1, 3, 6   <B>&#215; 4</B>") == 1);
  CHECK(times(dot, "blk.2, 4-5   <B>&#215; 3</B>") == 1);
  CHECK(times(dot, "next layer") == 4);        // within and between both
  CHECK(times(dot, "constraint=false") == 3);  // all but the one that leads down
  CHECK(times(to_dot(g, {.fold = Fold::neighbours}), "subgraph cluster_") == 5);
  const auto never = [](std::int64_t, std::int64_t) { return false; };
  CHECK(times(to_dot(g, {.may_fold = never}), "subgraph cluster_") == 7);
}

TEST_CASE("a diff shows what only one of the graphs has") {
  const Graph a = layered({1, 1}), b = layered({1, 2});
  const LayersAlike alike_a = layers_alike(a), alike_b = layers_alike(b);
  const auto both = [&](std::int64_t x, std::int64_t y) { return alike_a(x, y) && alike_b(x, y); };
  const Picture same = difference(picture_of(a), picture_of(a));
  CHECK(same.facts ==
        fmt::format("0 added, 0 removed, 0 changed, {} unchanged", same.boxes.size()));
  const Picture changed =
      difference(picture_of(a, {.may_fold = both}), picture_of(b, {.may_fold = both}));
  CHECK(changed.facts == "0 added, 0 removed, 1 changed, 8 unchanged");
  const std::string dot = to_dot(changed);
  CHECK(times(dot, "<S>gain 1</S>") == 1);
  CHECK(times(dot, ">gain 2<") == 1);
  if (const auto text = complaints(dot)) CHECK(*text == "");

  const Graph shorter = layered({1});
  const Picture lost = difference(picture_of(a, {.fold = Fold::none}), picture_of(shorter));
  CHECK(lost.facts == "0 added, 4 removed, 0 changed, 5 unchanged");  // with stand-ins
  CHECK(times(to_dot(lost), "subgraph cluster_") == 2);               // the lost layer has its own
  CHECK(times(to_dot(lost), "gone_n") > 2);
  if (const auto text = complaints(to_dot(lost))) CHECK(*text == "");
}

TEST_CASE("layers outside the range shrink to one node") {
  const std::string dot = to_dot(layered({1, 1, 1, 1, 1}), {.first_layer = 1, .last_layer = 2});
  CHECK(times(dot, "subgraph cluster_") == 1);
  CHECK(times(dot, "blk.1 .. blk.2") == 1);
  CHECK(times(dot, "<B>blk.0</B><BR/><FONT POINT-SIZE=\"9\" COLOR=\"#4b5563\">is not shown") == 1);
  CHECK(times(dot,
              "<B>blk.3 .. blk.4</B><BR/><FONT POINT-SIZE=\"9\" COLOR=\"#4b5563\">are not shown") ==
        1);
}

TEST_CASE("boxes name weights, attributes, bounds, makers and notes") {
  Graph g = layered({0.5f});
  Picture picture = picture_of(g);
  for (PictureBox& box : picture.boxes) {
    if (box.key != "blk.0.blend") continue;
    box.lines.push_back({"1.2 ms", PictureLine::Style::bold});
    box.fill = "#ff5a3c";
    box.tooltip = "a \"tip\"\nof \\ two <lines>";
  }
  const std::string dot = to_dot(picture);
  CHECK(times(dot, "F16 [8, 8]") == 1);
  CHECK(times(dot, "gain 0.5") == 1);
  CHECK(times(dot, "F32 [T&lt;=512, 8]") == 3);  // two inputs, one output
  CHECK(times(dot, "\u2192 F32 [T, 8]") == 2);   // two ops
  CHECK(times(dot, "<B>1.2 ms</B>") == 1);
  CHECK(times(dot, "#ff5a3c") == 1);
  CHECK(times(dot, "a &quot;tip&quot;&#10;of \\\\ two &lt;lines&gt;") == 1);
  if (const auto text = complaints(dot)) CHECK(*text == "");

  const auto remade = [](const Graph& from, std::string_view pass) {
    Rewriter rewriter(from, pass);
    for (NodeId id = 0; id < from.size(); ++id) {
      const Node& node = from[id];
      if (node.path != "blk.0.out") {
        rewriter.copy(id);
        continue;
      }
      const Tensor in[] = {rewriter(node.inputs[0]), {}, rewriter(node.inputs[2])};
      rewriter.replace(id, kBlend, in, node.attrs);
    }
    return rewriter.finish();
  };
  const Graph fused = remade(g, "fuse_things");
  CHECK(times(to_dot(fused), "<I>by fuse_things</I>") == 1);
  CHECK(times(to_dot(remade(fused, "lower")), "<I>by fuse_things+lower</I>") == 1);
}

TEST_CASE("text is escaped") {
  Graph g;
  const Tensor x = g.input("a<b>&\"c\"\n\\", {f32, {2}});
  const Tensor y = blend(x, {}, {}, 1);
  g.output("o->\xc3\xa9\xff", y);
  g.output("\xe0\x80\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xf0\x9f\x98\x80", y);
  const std::string dot = to_dot(g, {.title = "</B>\x01{|}"});
  CHECK(times(dot, "a&lt;b&gt;&amp;&quot;c&quot;?\\") == 1);
  CHECK(times(dot, "o-&gt;\xc3\xa9?") == 1);
  CHECK(times(dot, "&lt;/B&gt;?{|}") == 1);
  CHECK(times(dot, "<B>???|???|????|\xf0\x9f\x98\x80</B>") == 1);  // overlong, surrogate, too large
  if (const auto text = complaints(dot)) CHECK(*text == "");
}

TEST_CASE("markup: broken bytes and control characters become question marks") {
  CHECK(markup_text("a<b>&\"\n\xff\xc3\xa9\xc3") == "a&lt;b&gt;&amp;&quot;??\xc3\xa9?");
}

TEST_CASE("Graphviz draws every form without warnings") {
  const Graph g = layered({1, 1, 2, 2, 2});
  for (const PictureOptions& options :
       {PictureOptions{}, PictureOptions{.fold = Fold::none},
        PictureOptions{.fold = Fold::neighbours}, PictureOptions{.first_layer = 1, .last_layer = 1},
        PictureOptions{.first_layer = 9}}) {
    if (const auto text = complaints(to_dot(g, options))) CHECK(*text == "");
  }
}

}  // namespace
}  // namespace weft::draw
