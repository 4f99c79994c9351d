#include "pictures/viewer.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/draw/dot.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<title>TITLE</title>
<style>
html, body { margin: 0; height: 100%; font: 13px Helvetica, Arial, sans-serif; color: #111827; }
body { display: flex; overflow: hidden; }
#view { flex: 1; min-width: 0; position: relative; background: #ffffff; cursor: grab; }
#view.moving { cursor: grabbing; }
#view svg { position: absolute; width: 100%; height: 100%; }
#side { width: 340px; box-sizing: border-box; padding: 10px; overflow: auto; background: #f3f4f6;
  border-left: 1px solid #d1d5db; overflow-wrap: anywhere; }
#find { width: 100%; box-sizing: border-box; padding: 5px; font: inherit; }
#hits { list-style: none; margin: 4px 0; padding: 0; max-height: 30vh; overflow: auto; }
#hits li { padding: 2px 4px; cursor: pointer; font-family: monospace; }
#hits li:hover, #hits li.now { background: #dbeafe; }
#facts { border-collapse: collapse; width: 100%; margin-top: 8px; }
#facts td { vertical-align: top; padding: 2px 4px; border-top: 1px solid #e5e7eb; }
#facts td:first-child { color: #6b7280; white-space: nowrap; }
.hint { color: #6b7280; }
g.node { cursor: pointer; }
g.node.lit > a > *, g.node.lit > * { filter: drop-shadow(0 0 3px #2563eb); }
g.node.lit path, g.node.lit ellipse, g.node.lit polygon { stroke: #2563eb; }
</style>
</head>
<body>
<div id="view">
)";

constexpr std::string_view kSide = R"(</div>
<div id="side">
<input id="find" type="search" placeholder="find a path, for example blk.3.attn" autocomplete="off"/>
<ul id="hits"></ul>
<p><button id="top">top</button> <button id="fit">fit</button> <button id="in">+</button> <button id="out">&#8722;</button>
<span class="hint"> drag to move, wheel to zoom, click to keep a box</span></p>
<table id="facts"></table>
</div>
<script id="data" type="application/json">)";

constexpr std::string_view kScript = R"JS(</script>
<script>//<![CDATA[
"use strict";
const view = document.getElementById("view"), svg = view.querySelector("svg");
const boxes = JSON.parse(document.getElementById("data").textContent);
const byName = new Map(boxes.map(box => [box.name, box]));
const whole = svg.viewBox.baseVal;
const all = {x: whole.x, y: whole.y, w: whole.width, h: whole.height};
let now = {...all}, kept = null;

svg.removeAttribute("width");
svg.removeAttribute("height");
// Graphviz' own hints would cover ours.
svg.querySelectorAll("title").forEach(title => { if (title.parentNode.id) title.remove(); });
svg.querySelectorAll("a").forEach(a => {
  for (const name of ["xlink:title", "title"]) a.removeAttribute(name);
});

function show(rect) {
  now = rect;
  svg.setAttribute("viewBox", `${rect.x} ${rect.y} ${rect.w} ${rect.h}`);
}
// Shows all of it if that is readable, otherwise its top, one pixel per unit.
function start() {
  const w = Math.max(1, view.clientWidth), h = Math.max(1, view.clientHeight);
  if (Math.min(w / all.w, h / all.h) > 0.8) return show({...all});
  show({x: all.x + (all.w - w) / 2, y: all.y, w, h});
}
function scale() { return Math.max(now.w / view.clientWidth, now.h / view.clientHeight); }
function zoom(factor, clientX, clientY) {
  const frame = view.getBoundingClientRect(), s = scale();
  // The picture is in the middle of the view.
  const px = clientX - frame.left - frame.width / 2, py = clientY - frame.top - frame.height / 2;
  const x = now.x + now.w / 2 + px * s, y = now.y + now.h / 2 + py * s;
  show({x: x + (now.x - x) * factor, y: y + (now.y - y) * factor,
        w: now.w * factor, h: now.h * factor});
}
function zoomMiddle(factor) {
  const frame = view.getBoundingClientRect();
  zoom(factor, frame.left + frame.width / 2, frame.top + frame.height / 2);
}
view.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)),
       event.clientX, event.clientY);
}, {passive: false});

let grip = null, moved = false;
view.addEventListener("pointerdown", event => {
  grip = {x: event.clientX, y: event.clientY};
  moved = false;
});
window.addEventListener("pointermove", event => {
  if (!grip) return;
  const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
  if (!moved && Math.hypot(dx, dy) < 4) return;
  moved = true;
  view.classList.add("moving");
  show({...now, x: now.x - dx * scale(), y: now.y - dy * scale()});
  grip = {x: event.clientX, y: event.clientY};
});
window.addEventListener("pointerup", () => {
  grip = null;
  view.classList.remove("moving");
});

function fill(box) {
  const table = document.getElementById("facts");
  table.replaceChildren();
  if (!box) return;
  const rows = box.paths.length > 1 ? [...box.rows, ["nodes", box.paths.join(", ")]] : box.rows;
  for (const [key, value] of rows) {
    const row = table.insertRow();
    row.insertCell().textContent = key;
    row.insertCell().textContent = value;
  }
}
function light(name) {
  svg.querySelectorAll("g.node.lit").forEach(node => node.classList.remove("lit"));
  if (name) document.getElementById(name).classList.add("lit");
}
function keep(name) {
  kept = name;
  light(name);
  fill(byName.get(name));
}
function goTo(name) {
  const node = document.getElementById(name);
  if (!node) return;
  const box = node.getBBox(), matrix = node.getScreenCTM(), root = svg.getScreenCTM();
  const to = root.inverse().multiply(matrix);
  const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2).matrixTransform(to);
  const w = Math.min(all.w, Math.max(box.width * 6, 500));
  const h = w * view.clientHeight / Math.max(1, view.clientWidth);
  show({x: middle.x - w / 2, y: middle.y - h / 2, w, h});
  keep(name);
}
svg.querySelectorAll("g.node").forEach(node => {
  if (!byName.has(node.id)) return;
  node.addEventListener("mouseenter", () => { if (!grip) fill(byName.get(node.id)); });
  node.addEventListener("mouseleave", () => fill(byName.get(kept)));
  node.addEventListener("click", event => {
    event.preventDefault();
    if (!moved) keep(kept === node.id ? null : node.id);
  });
});

const find = document.getElementById("find"), hits = document.getElementById("hits");
function search() {
  const words = find.value.toLowerCase().split(/\s+/).filter(word => word);
  hits.replaceChildren();
  if (!words.length) return;
  for (const box of boxes) {
    for (const path of box.paths) {
      if (!words.every(word => path.toLowerCase().includes(word))) continue;
      const item = document.createElement("li");
      item.textContent = path;
      item.addEventListener("click", () => goTo(box.name));
      hits.append(item);
      if (hits.childElementCount >= 200) return;
    }
  }
}
find.addEventListener("input", search);
find.addEventListener("keydown", event => {
  if (event.key === "Enter" && hits.firstElementChild) hits.firstElementChild.click();
  if (event.key === "Escape") { find.value = ""; search(); }
});
document.getElementById("top").addEventListener("click", start);
document.getElementById("fit").addEventListener("click", () => show({...all}));
document.getElementById("in").addEventListener("click", () => zoomMiddle(0.7));
document.getElementById("out").addEventListener("click", () => zoomMiddle(1 / 0.7));
start();
//]]></script>
</body>
</html>
)JS";

// As text between tags of HTML and of XML: neither knows < or & there.
std::string json_of(const std::vector<BoxFacts>& facts) {
  Json list = Json::array();
  for (const BoxFacts& box : facts)
    list.push_back({{"name", box.name}, {"paths", box.paths}, {"rows", box.rows}});
  std::string out;
  for (const char c : list.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string viewer_html(const std::string& title, const std::string& svg,
                        const std::vector<BoxFacts>& facts) {
  const std::size_t begin = svg.find("<svg");
  if (begin == std::string::npos) fail<FormatError>("Graphviz drew no SVG");
  std::string html(kHead);
  html.replace(html.find("TITLE"), 5, draw::markup_text(title));
  html += svg.substr(begin);
  html += kSide;
  html += json_of(facts);
  return html += kScript;
}

}  // namespace weft::tools
