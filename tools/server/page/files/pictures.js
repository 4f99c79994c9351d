// The graph of a model as layers of boxes, and its memory plan as the server draws it.

import {byId, element, get, svg} from "./dom.js";

const kRow = 26, kGap = 22, kSide = 18, kChar = 6.6, kMaxLines = 4;

// Rows by the longest way from an input; edges that go back are left out of it. Inputs are in the
// row above the first box that reads them.
function rankBoxes(boxes, edges) {
  const rank = new Map(boxes.map(b => [b.name, 0]));
  const from = new Map(boxes.map(b => [b.name, []])), to = new Map(boxes.map(b => [b.name, []]));
  for (const e of edges)
    if (!e.upwards && rank.has(e.from) && rank.has(e.to)) { from.get(e.to).push(e.from); to.get(e.from).push(e.to); }
  for (let changed = true, i = 0; changed && i <= boxes.length; ++i) {
    changed = false;
    for (const b of boxes) {
      const least = Math.max(0, ...from.get(b.name).map(n => rank.get(n) + 1));
      if (least > rank.get(b.name)) { rank.set(b.name, least); changed = true; }
    }
  }
  for (const b of boxes)
    if (!from.get(b.name).length && to.get(b.name).length)
      rank.set(b.name, Math.max(0, Math.min(...to.get(b.name).map(n => rank.get(n))) - 1));
  return {rank, from};
}

// Boxes of a row, ordered by the mean position of what leads to them.
function orderRow(row, from, position) {
  const wish = b => {
    const known = from.get(b.name).map(n => position.get(n)).filter(x => x !== undefined);
    return known.length ? known.reduce((a, x) => a + x, 0) / known.length : 0;
  };
  return row.map(b => [wish(b), b]).sort((a, b) => a[0] - b[0]).map(([, b]) => b);
}

function sizeOf(box) {
  box.texts = [box.title, ...box.lines.slice(0, kMaxLines)];
  box.width = 16 + kChar * Math.max(...box.texts.map(t => t.length));
  box.height = 8 + 15 * box.texts.length;
}

function placeRow(row, x, y, position) {
  for (const b of row) {
    Object.assign(b, {x, y});
    position.set(b.name, x + b.width / 2);
    x += b.width + kGap;
  }
  return x;
}

// Boxes of layers are on the left; beside them, on the right, those of no layer.
function layOut(graph) {
  graph.boxes.forEach(sizeOf);
  const {rank, from} = rankBoxes(graph.boxes, graph.edges);
  const rows = [];
  for (const b of graph.boxes) (rows[rank.get(b.name)] ||= []).push(b);
  const inLayer = row => row.filter(b => b.cluster >= 0);
  const widthOf = row => row.reduce((sum, b) => sum + b.width + kGap, kSide);
  const ranks = graph.boxes.filter(b => b.cluster >= 0).map(b => rank.get(b.name));
  const left = Math.max(kSide, ...rows.filter(Boolean).map(row => widthOf(inLayer(row)))) + 2 * kSide;
  const position = new Map();
  let y = kSide, width = 0;
  rows.forEach((row, i) => {
    if (!row) return;
    const beside = ranks.length && i >= Math.min(...ranks) && i <= Math.max(...ranks);
    const end = placeRow(orderRow(inLayer(row), from, position), kSide, y, position);
    const others = orderRow(row.filter(b => b.cluster < 0), from, position);
    width = Math.max(width, end, placeRow(others, beside ? left : kSide, y, position));
    y += Math.max(...row.map(b => b.height)) + kRow;
  });
  return {width, height: y};
}

function drawEdge(from, to) {
  const x1 = from.x + from.width / 2, y1 = from.y + from.height;
  const x2 = to.x + to.width / 2, y2 = to.y, bend = Math.max(18, Math.abs(y2 - y1) / 3);
  return svg("path", {class: "edge", "marker-end": "url(#arrow)",
    d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`});
}

function drawBox(box) {
  const group = svg("g", {}, svg("title", {}, box.tooltip || [box.title, ...box.lines].join("\n")),
    svg("rect", {class: "box", x: box.x, y: box.y, width: box.width, height: box.height, rx: 5}));
  box.texts.forEach((text, i) => group.append(svg("text",
    {class: i ? "small" : "", x: box.x + 8, y: box.y + 16 + 15 * i}, text)));
  return group;
}

// A dashed frame around the boxes of folded layers.
function drawCluster(cluster, boxes) {
  if (!boxes.length) return [];
  const x = Math.min(...boxes.map(b => b.x)) - 8, y = Math.min(...boxes.map(b => b.y)) - 8;
  const right = Math.max(...boxes.map(b => b.x + b.width)) + 8;
  const bottom = Math.max(...boxes.map(b => b.y + b.height)) + 8;
  return [svg("rect", {class: "layer", x, y, width: right - x, height: bottom - y, rx: 8}),
    svg("text", {class: "small", x: right + 4, y: y + 12}, cluster.label)];
}

function drawGraph(graph) {
  const {width, height} = layOut(graph);
  const byName = new Map(graph.boxes.map(b => [b.name, b]));
  const picture = svg("svg", {width: width + 140, height, viewBox: `0 0 ${width + 140} ${height}`, role: "img",
    "aria-label": `${graph.title}: ${graph.boxes.length} boxes, ${graph.edges.length} edges`});
  picture.append(svg("defs", {}, svg("marker", {id: "arrow", viewBox: "0 0 6 6", refX: 6, refY: 3,
    markerWidth: 7, markerHeight: 7, orient: "auto"}, svg("path", {class: "edge", d: "M0 0L6 3L0 6"}))));
  graph.clusters.forEach((c, i) => picture.append(...drawCluster(c, graph.boxes.filter(b => b.cluster === i))));
  for (const e of graph.edges)
    if (!e.upwards && byName.has(e.from) && byName.has(e.to)) picture.append(drawEdge(byName.get(e.from), byName.get(e.to)));
  picture.append(...graph.boxes.map(drawBox));
  return picture;
}

async function into(place, make) {
  byId(place).textContent = "…";
  try {
    byId(place).replaceChildren(await make());
  } catch (error) {
    byId(place).textContent = error.message;
  }
}

const query = model => model ? `?model=${encodeURIComponent(model)}` : "";

export const showGraph = model => into("graph-picture", async () => {
  const graph = await (await get(`ui/graph${query(model)}`)).json();
  byId("graph-facts").textContent = graph.facts;
  return drawGraph(graph);
});

export const showPlan = model => into("plan-picture", async () => {
  const picture = await (await get(`ui/plan${query(model)}`)).blob();
  return element("img", {src: URL.createObjectURL(picture), alt: "Tensors in the arena over the steps of one token"});
});
