// A message on the page: its text, its tokens' probabilities, and what can be done with it.

import {byId, element} from "./dom.js";

const kUnsure = 0.5;  // tokens with a lower probability are underlined

const percent = logprob => `${(100 * Math.exp(logprob)).toFixed(1).padStart(5)} %`;

// The probable tokens, one per line.
function describe(token) {
  const rows = (token.top_logprobs || []).map(t => [t.token, t.logprob]);
  if (!rows.some(([text]) => text === token.token)) rows.push([token.token, token.logprob]);
  return rows.map(([text, p]) =>
    `${text === token.token ? "›" : " "} ${percent(p)}  ${JSON.stringify(text)}`).join("\n");
}

function showTooltip(span) {
  const tooltip = byId("tooltip");
  if (!span) { tooltip.hidden = true; return; }
  tooltip.textContent = span.dataset.facts;
  tooltip.hidden = false;
  const at = span.getBoundingClientRect();
  const left = Math.min(at.left, innerWidth - tooltip.offsetWidth - 8);
  const below = at.bottom + 6 + tooltip.offsetHeight < innerHeight;
  tooltip.style.left = `${Math.max(left, 8)}px`;
  tooltip.style.top = `${below ? at.bottom + 6 : at.top - tooltip.offsetHeight - 6}px`;
}

export class MessageView {
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.content = element("div", {class: "content"});
    this.buttons = element("div", {class: "actions"});
    this.item = element("li", {class: message.role},
      element("h3", {}, message.role === "user" ? "You" : "Model"), this.content, this.buttons);
    this.addButtons();
    this.update();
    this.watchTokens();
  }

  addButtons() {
    const button = (text, act) => this.buttons.append(element("button", {type: "button", onclick: act}, text));
    if (this.message.role === "user") button("Edit", () => this.edit());
    else button("Retry", this.actions.retry);
    button("Copy", () => navigator.clipboard?.writeText(this.message.content));
  }

  update() {
    const {content, reasoning, tokens, files} = this.message;
    const list = byId("messages");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    if (reasoning) this.showReasoning(reasoning);
    if (tokens) this.addTokens(tokens);
    else this.content.textContent = (files || []).map(f => `[${f.name}]\n`).join("") + content;
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  showReasoning(text) {
    if (!this.reasoning) {
      this.reasoning = element("div", {class: "reasoning"});
      this.content.before(element("details", {open: true}, element("summary", {}, "Reasoning"), this.reasoning));
    }
    this.reasoning.textContent = text;
  }

  // Appends the tokens that are not shown yet.
  addTokens(tokens) {
    if (!this.shown) { this.shown = 0; this.content.replaceChildren(); this.content.tabIndex = 0; }
    for (; this.shown < tokens.length; ++this.shown) {
      const token = tokens[this.shown];
      const unsure = Math.exp(token.logprob) < kUnsure ? " unsure" : "";
      const span = element("span", {class: `token${unsure}`}, token.token);
      span.dataset.facts = describe(token);
      this.content.append(span);
    }
  }

  // Shows the probabilities under the pointer, and at the token that arrow keys choose.
  watchTokens() {
    this.content.addEventListener("pointerover", e => showTooltip(e.target.closest(".token")));
    this.content.addEventListener("pointerleave", () => showTooltip(null));
    this.content.addEventListener("blur", () => this.choose(null));
    this.content.addEventListener("keydown", e => {
      const now = this.content.querySelector(".current");
      const first = this.content.querySelector(".token");
      if (e.key === "ArrowRight") this.choose(now ? now.nextElementSibling || now : first);
      else if (e.key === "ArrowLeft") this.choose(now ? now.previousElementSibling || now : first);
      else return;
      e.preventDefault();
    });
  }

  choose(span) {
    this.content.querySelector(".current")?.classList.remove("current");
    span?.classList.add("current");
    showTooltip(span);
  }

  edit() {
    const text = element("textarea", {rows: 4, "aria-label": "Edit the message"});
    text.value = this.message.content;
    const finish = keep => { this.content.hidden = false; form.remove(); if (keep) this.actions.edit(text.value.trim()); };
    const form = element("form", {onsubmit: e => { e.preventDefault(); finish(true); }}, text,
      element("div", {class: "row"}, element("button", {class: "primary"}, "Send"),
        element("button", {type: "button", onclick: () => finish(false)}, "Cancel")));
    this.content.hidden = true;
    this.content.after(form);
    text.focus();
  }

  remove() { this.item.remove(); }
}
