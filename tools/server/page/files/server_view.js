// What the server does at the moment: speeds, slots, memory.

import {byId, element, get, humanBytes, svg} from "./dom.js";

const kPeriod = 1000, kPoints = 120;
let timer = 0, last = null, speeds = [];

function tile(value, label) {
  return element("div", {class: "tile"}, element("b", {}, value), element("span", {}, label));
}

function showTiles(state) {
  const c = state.counters, seconds = last ? (state.time - last.time) : 0;
  const rate = name => seconds > 0 ? (c[name] - last.counters[name]) / seconds : 0;
  const share = c.prompt_tokens + c.cached_tokens > 0
    ? 100 * c.cached_tokens / (c.prompt_tokens + c.cached_tokens) : 0;
  speeds.push(rate("new_tokens"));
  speeds = speeds.slice(-kPoints);
  byId("tiles").replaceChildren(
    tile(rate("new_tokens").toFixed(1), "tokens/s"),
    tile(rate("prompt_tokens").toFixed(1), "prompt tokens/s"),
    tile(`${share.toFixed(0)} %`, "of prompts from the cache"),
    tile(c.running, "running"), tile(c.waiting, "waiting"),
    tile(c.cancelled, "cancelled"), tile(c.requests, "requests"),
    tile(humanBytes(state.resident_bytes), "resident memory"));
}

function showSparkline() {
  const width = 600, height = 80, max = Math.max(1, ...speeds);
  const points = speeds.map((v, i) =>
    `${(width * i / (kPoints - 1)).toFixed(1)},${(height - 4 - (height - 8) * v / max).toFixed(1)}`);
  byId("sparkline").replaceChildren(svg("svg",
    {viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
     "aria-label": `tokens per second, at most ${max.toFixed(1)}`},
    svg("polyline", {class: "spark", points: points.join(" ")})));
}

function table(head, rows) {
  const cell = (name, value) =>
    element(name, {class: typeof value === "number" ? "number" : null}, String(value));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head.map(h => element("th", {scope: "col"}, h)))),
    element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map(v => cell("td", v))))));
}

function showSlots(state) {
  const rows = state.models.flatMap(m => m.slots.map(s =>
    [m.name, s.id, s.busy ? "busy" : "idle", s.held, s.prompt, s.new, s.why_not_reused]));
  byId("slots").replaceChildren(table(
    ["Model", "Slot", "State", "Tokens held", "Prompt", "New", "Why the last prompt was computed"], rows));
}

function showMemory(state) {
  const rows = state.models.flatMap(m => Object.entries(m.memory).filter(([, bytes]) => bytes > 0)
    .map(([kind, bytes]) => ({label: `${m.name}: ${kind.replace("_", " ")}`, bytes})));
  const max = Math.max(1, ...rows.map(r => r.bytes)), line = 26, left = 260, width = 720;
  const picture = svg("svg", {viewBox: `0 0 ${width} ${line * rows.length}`, width, height: line * rows.length,
    role: "img", "aria-label": rows.map(r => `${r.label} ${humanBytes(r.bytes)}`).join(", ")});
  rows.forEach((r, i) => {
    const y = i * line;
    picture.append(
      svg("text", {x: 0, y: y + 17, fill: "currentColor", "font-size": 14}, r.label),
      svg("rect", {class: "bar", x: left, y: y + 5, width: Math.max(2, (width - left - 100) * r.bytes / max), height: 16}),
      svg("text", {x: width, y: y + 17, fill: "currentColor", "font-size": 14, "text-anchor": "end"}, humanBytes(r.bytes)));
  });
  byId("memory").replaceChildren(picture,
    element("p", {class: "hint"}, `Budget: ${humanBytes(state.memory_budget)}`));
}

async function refresh() {
  try {
    const state = await (await get("ui/state")).json();
    showTiles(state);
    showSparkline();
    showSlots(state);
    showMemory(state);
    last = state;
  } catch (error) {
    byId("slots").textContent = error.message;
  }
}

export function startServerView() {
  return {
    show() {
      clearInterval(timer);
      refresh();
      timer = setInterval(() => { if (!document.hidden) refresh(); }, kPeriod);
    },
    hide() { clearInterval(timer); },
  };
}
