// Tabs, the choice of the model and of colours, and the state of the server.

import {apiKey, byId, element, get} from "./dom.js";
import {showDefaults, startChat} from "./chat.js";
import {startServerView} from "./server_view.js";
import {showGraph, showPlan} from "./pictures.js";

const tabs = [...document.querySelectorAll("[role=tab]")];
const views = {server: startServerView(), graph: {show: showGraph}, plan: {show: showPlan}};

function select(tab) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    const name = other.getAttribute("aria-controls");
    byId(name).hidden = !chosen;
    if (!chosen) views[name]?.hide?.();
  }
  views[tab.getAttribute("aria-controls")]?.show(byId("model").value);
}

function startTabs() {
  for (const tab of tabs) tab.addEventListener("click", () => select(tab));
  byId("tabs").addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    select(next);
  });
}

function startTheme() {
  const choose = value => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  const theme = byId("theme");
  theme.value = localStorage.getItem("weft-theme") || "";
  choose(theme.value);
  theme.addEventListener("change", () => {
    localStorage.setItem("weft-theme", theme.value);
    choose(theme.value);
  });
}

async function loadModels() {
  const models = (await (await get("v1/models")).json()).data;
  const chosen = byId("model").value;
  byId("model").replaceChildren(
    ...models.map(m => element("option", {value: m.id, selected: m.id === chosen}, m.id)));
  await showDefaults();
}

// Tells how the server is, and lists its models once it answers.
async function watchHealth() {
  const health = byId("health");
  try {
    const response = await fetch("health", {cache: "no-store"});
    const state = (await response.json()).state;
    health.textContent = state;
    health.className = response.ok ? "" : "bad";
    if (response.ok && !byId("model").options.length) await loadModels();
  } catch (error) {
    health.textContent = error.status === 401 ? "needs an API key" : "not reachable";
    health.className = "bad";
  }
  setTimeout(watchHealth, document.hidden ? 20000 : 4000);
}

byId("key").value = apiKey.get();
byId("key").addEventListener("change", () => {
  apiKey.set(byId("key").value.trim());
  loadModels().catch(() => {});
});
byId("model").addEventListener("change", () => {
  select(tabs.find(tab => tab.getAttribute("aria-selected") === "true"));
  showDefaults().catch(() => {});
});
startTheme();
startTabs();
startChat();
watchHealth();
