// What all parts of the page share: elements, requests, settings.

export const byId = id => document.getElementById(id);

// element("p", {class: "x"}, "text", child)
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The key is kept until the window is closed.
export const apiKey = {
  get: () => sessionStorage.getItem("weft-key") || "",
  set: key => key ? sessionStorage.setItem("weft-key", key) : sessionStorage.removeItem("weft-key"),
};

function headers(more = {}) {
  const key = apiKey.get();
  return key ? {...more, Authorization: `Bearer ${key}`} : more;
}

async function checked(response) {
  if (response.ok) return response;
  let message = `status ${response.status}`;
  try {
    const body = await response.json();
    message = body.error?.message || body.error || message;
  } catch { /* not JSON: the status has to do */ }
  const error = new Error(message);
  error.status = response.status;
  throw error;
}

// Paths are relative to the page, so that they are below its prefix.
export const get = async path =>
  checked(await fetch(path, {headers: headers(), cache: "no-store"}));

export const post = async (path, body, signal) =>
  checked(await fetch(path, {
    method: "POST", signal, body: JSON.stringify(body),
    headers: headers({"Content-Type": "application/json"}),
  }));

// The data of server-sent events, as JSON, up to [DONE].
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      yield JSON.parse(data);
    }
  }
}

export function humanBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (bytes >= 1024 && i < units.length - 1) { bytes /= 1024; ++i; }
  return `${i ? bytes.toFixed(1) : bytes} ${units[i]}`;
}
