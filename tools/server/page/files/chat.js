// The conversation: what was said, and how the next answer is requested.

import {byId, element, events, get, post} from "./dom.js";
import {MessageView} from "./message_view.js";

const kMaxFile = 1 << 20;

let messages = [];     // {role, content, reasoning, tokens, files}
let attachments = [];  // {name, text}
let abort = null;      // while an answer is computed

const notice = text => { byId("notice").textContent = text; };

function attachmentText(files) {
  return files.map(f => `File ${f.name}:\n\`\`\`\n${f.text}\n\`\`\`\n\n`).join("");
}

// Numbers that the user gave; others are left to the server.
function sampling() {
  const values = {};
  for (const input of byId("sampling").querySelectorAll("input"))
    if (input.value !== "") values[input.name] = Number(input.value);
  return values;
}

// Shows the server's values in empty fields. A model that is not loaded is not asked: that would
// load it.
export async function showDefaults() {
  const model = byId("model").value;
  const models = (await (await get("v1/models")).json()).data;
  const loaded = models.find(m => m.id === model)?.status?.value === "loaded";
  const props = loaded ? await (await get(`props?model=${encodeURIComponent(model)}`)).json() : {};
  const values = props.default_generation_settings?.params || {};
  if (byId("model").value !== model) return;
  for (const input of byId("sampling").querySelectorAll("input")) {
    const value = values[input.name];
    input.placeholder = value < 0 ? {max_tokens: "no limit", seed: "random"}[input.name] : value ?? "";
  }
}

// The schema as an object, null if there is none. Throws, and shows why, if it is not JSON.
function schema() {
  const text = byId("schema").value.trim();
  const shown = byId("schema-error");
  shown.textContent = "";
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    shown.textContent = `not JSON: ${error.message}`;
    byId("schema").closest("details").open = true;
    throw new Error("The JSON schema is not JSON.");
  }
}

function requestBody() {
  const system = byId("system").value.trim();
  const said = messages.map(m => ({role: m.role, content: attachmentText(m.files || []) + m.content}));
  const body = {
    model: byId("model").value || undefined, stream: true, ...sampling(),
    stream_options: {include_usage: true},
    messages: system ? [{role: "system", content: system}, ...said] : said,
  };
  if (byId("logprobs").checked) Object.assign(body, {logprobs: true, top_logprobs: 5});
  const wanted = schema();
  if (wanted)
    body.response_format = {type: "json_schema", json_schema: {name: "answer", schema: wanted, strict: true}};
  return body;
}

function busy(on) {
  byId("send").disabled = on;
  byId("stop").disabled = !on;
  byId("messages").setAttribute("aria-busy", on);
}

function apply(event, message, view) {
  if (event.error) throw new Error(event.error.message);
  const choice = event.choices?.[0];
  if (!choice) return;
  const {content, reasoning_content: reasoning} = choice.delta || {};
  if (reasoning) message.reasoning = (message.reasoning || "") + reasoning;
  if (content) message.content += content;
  for (const token of choice.logprobs?.content || []) (message.tokens ||= []).push(token);
  view.update();
}

function showSpeed(start, first, usage) {
  if (!usage || !first) return;
  const n = usage.completion_tokens, seconds = (performance.now() - first) / 1000;
  const cached = usage.prompt_tokens_details?.cached_tokens || 0;
  byId("speed").textContent =
    `${usage.prompt_tokens} + ${n} tokens (${cached} from the cache), first after ` +
    `${Math.round(first - start)} ms, ${(n > 1 ? (n - 1) / seconds : 0).toFixed(1)} tokens/s`;
}

async function answer() {
  notice("");
  let body;
  try { body = requestBody(); } catch (error) { notice(error.message); return; }
  const message = {role: "assistant", content: ""};
  messages.push(message);
  const view = show(message);
  abort = new AbortController();
  busy(true);
  const start = performance.now();
  let first = 0, usage = null;
  try {
    const response = await post("v1/chat/completions", body, abort.signal);
    for await (const event of events(response)) {
      if (event.choices?.length) first ||= performance.now();
      usage = event.usage || usage;
      apply(event, message, view);
    }
  } catch (error) {
    if (error.name !== "AbortError") notice(error.message);
    if (!message.content && !message.reasoning) { messages.pop(); view.remove(); }
  }
  abort = null;
  busy(false);
  if (!byId("sampling").querySelector("input").placeholder) showDefaults().catch(() => {});
  showSpeed(start, first, usage);
}

// Drops this message and all after it.
function cutAt(message) {
  abort?.abort();
  messages = messages.slice(0, messages.indexOf(message));
  const list = byId("messages");
  while (list.children.length > messages.length) list.lastChild.remove();
}

function say(content, files) {
  const message = {role: "user", content, files};
  messages.push(message);
  show(message);
  return answer();
}

function show(message) {
  const view = new MessageView(message, {
    retry: () => { cutAt(message); answer(); },
    edit: text => { cutAt(message); say(text, message.files); },
  });
  byId("messages").append(view.item);
  view.item.scrollIntoView({block: "end"});
  return view;
}

function showAttachments() {
  byId("attachments").replaceChildren(...attachments.map(file => element("li", {}, file.name, element(
    "button", {type: "button", "aria-label": `Remove ${file.name}`, onclick: () => {
      attachments = attachments.filter(f => f !== file);
      showAttachments();
    }}, "×"))));
}

async function attach(files) {
  for (const file of files) {
    if (file.size > kMaxFile) { notice(`${file.name} is larger than 1 MiB`); continue; }
    const text = await file.text();
    if (text.includes("\0")) { notice(`${file.name} is not a text file`); continue; }
    attachments.push({name: file.name, text});
  }
  showAttachments();
}

function send() {
  const text = byId("prompt").value.trim();
  if (abort || (!text && !attachments.length)) return;
  const files = attachments;
  attachments = [];
  showAttachments();
  byId("prompt").value = "";
  say(text, files);
}

export function startChat() {
  byId("composer").addEventListener("submit", event => { event.preventDefault(); send(); });
  byId("prompt").addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
  });
  document.addEventListener("keydown", event => { if (event.key === "Escape") abort?.abort(); });
  byId("stop").addEventListener("click", () => abort?.abort());
  byId("attach").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", event => { attach([...event.target.files]); event.target.value = ""; });
  byId("clear").addEventListener("click", () => {
    abort?.abort();
    messages = [];
    byId("messages").replaceChildren();
    byId("prompt").focus();
  });
}
