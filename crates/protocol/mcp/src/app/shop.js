// The page of a dealer's tools inside a host of MCP Apps (2026-01-26). All texts come from dealers: they are only ever
// set as text, links open through the host, and nothing is sent to a dealer without a click on a button that says so.
"use strict";

// Some hosts put the whole document into the body of theirs, where browsers ignore a policy.
const policy = document.querySelector('body meta[http-equiv="Content-Security-Policy"]');
if (policy) document.head.append(policy);

const PROTOCOL = "2026-01-26";
const SEARCH = "aap_inventory_search";
const VEHICLE = "aap_inventory_vehicle";
const LEAD = "aap_lead_submit";
const MAX_COMPARED = 4;
const CHANNELS = [["email", "E-mail"], ["phone", "Telephone"], ["sms", "Text message"]];

// Requests to the host that wait for an answer, by their ids.
const waiting = new Map();
let lastId = 0;

// What is shown.
const state = {
  tool: "",
  input: {},
  page: null,
  picked: [],
  // The lead that was written last and not sent, with the vehicle that it is about.
  draft: null,
};

function post(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function ask(method, params) {
  lastId += 1;
  const id = lastId;
  post({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function callTool(name, given) {
  return ask("tools/call", { name, arguments: given });
}

window.addEventListener("message", (event) => {
  // Other frames of the same page are not the host.
  if (event.source !== window.parent || event.data?.jsonrpc !== "2.0") return;
  const { id, method, params, result, error } = event.data;
  if (method === undefined) {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) reject?.(new Error(String(error.message ?? "the host refused")));
    else resolve?.(result);
  } else if (method === "ui/notifications/tool-input") {
    state.input = params?.arguments ?? {};
  } else if (method === "ui/notifications/tool-result") {
    showResult(state.tool, state.input, params ?? {});
  } else if (method === "ui/notifications/tool-cancelled") {
    say("The call was cancelled.");
  } else if (method === "ui/notifications/host-context-changed") {
    applyContext(params ?? {});
  } else if (id !== undefined) {
    // A teardown may come at any time; nothing is stored here.
    const known = method === "ui/resource-teardown" || method === "ping";
    post(known ? { id, result: {} } : { id, error: { code: -32601, message: "method not found" } });
  }
});

function applyContext(context) {
  if (context.theme) document.documentElement.dataset.theme = context.theme;
  if (context.toolInfo?.tool?.name) state.tool = context.toolInfo.tool.name;
}

// Makes an element. Texts are set as text, never as markup.
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const view = document.getElementById("view");
const bar = document.getElementById("bar");

function show(title, note, ...children) {
  document.getElementById("title").textContent = title;
  document.getElementById("note").textContent = note ?? "";
  view.replaceChildren(...children);
  bar.hidden = true;
  bar.replaceChildren();
  // The height of the frame is the host's: a new view would begin where the last one was left.
  window.scrollTo(0, 0);
}

function say(text) {
  document.getElementById("note").textContent = text;
}

function dollars(value) {
  const form = { style: "currency", currency: "USD", maximumFractionDigits: 0 };
  return typeof value === "number" ? value.toLocaleString("en-US", form) : "";
}

function miles(value) {
  return typeof value === "number" ? `${value.toLocaleString("en-US")} mi` : "";
}

function titleOf(vehicle) {
  const words = [vehicle.year, vehicle.make, vehicle.model, vehicle.trim];
  return words.filter((word) => word !== null && word !== undefined && word !== "").join(" ") || "Vehicle";
}

// The members by which a vehicle is called.
function called(vehicle) {
  const name = ["vin", "stock", "vehicle_id"].find((key) => typeof vehicle[key] === "string");
  return name ? { [name]: vehicle[name] } : {};
}

function keyOf(vehicle) {
  return JSON.stringify([vehicle.dealer ?? "", called(vehicle)]);
}

// A bridge names the dealer of each vehicle, and its tools ask for it.
function dealerOf(vehicle) {
  return typeof vehicle.dealer === "string" ? { dealer: vehicle.dealer } : {};
}

function photo(address, label) {
  const box = make("div", { class: "photo" });
  const none = () => box.replaceChildren(make("span", {}, "No photo"));
  if (typeof address !== "string" || !address.startsWith("https://")) {
    none();
    return box;
  }
  const image = make("img", { alt: label, loading: "lazy", decoding: "async", referrerPolicy: "no-referrer" });
  image.addEventListener("error", none);
  image.src = address;
  box.append(image);
  return box;
}

function link(vehicle, label) {
  const url = vehicle.vdp_url;
  if (typeof url !== "string" || !url.startsWith("https://")) return null;
  const open = () => ask("ui/open-link", { url }).catch(() => say(`The page is ${url}`));
  return make("button", { type: "button", onclick: open }, label);
}

function facts(vehicle) {
  const place = [vehicle.rooftop, vehicle.dealer].filter(Boolean).join(", ");
  const stock = vehicle.stock ? `Stock ${vehicle.stock}` : "";
  const of = [vehicle.condition, miles(vehicle.mileage), vehicle.status].filter(Boolean).join(" · ");
  return [
    make("h2", {}, titleOf(vehicle)),
    make("div", { class: "price" }, dollars(vehicle.price) || "Price on request"),
    make("div", {}, of),
    place && make("div", { class: "quiet" }, place),
    stock && make("div", { class: "quiet" }, stock),
    Array.isArray(vehicle.doubtful) && make("div", { class: "warn" }, `Check this offer: ${vehicle.doubtful.join("; ")}`),
  ].filter(Boolean);
}

function card(vehicle) {
  const key = keyOf(vehicle);
  const pick = make("input", { type: "checkbox", checked: state.picked.some((other) => keyOf(other) === key) });
  pick.addEventListener("change", () => {
    state.picked = state.picked.filter((other) => keyOf(other) !== key);
    if (pick.checked && state.picked.length < MAX_COMPARED) state.picked.push(vehicle);
    else if (pick.checked) {
      pick.checked = false;
      say(`At most ${MAX_COMPARED} vehicles can be compared.`);
    }
    showBar();
  });
  const label = `Compare ${titleOf(vehicle)}`;
  return make("article", { class: "card" },
    photo(vehicle.photos?.[0], titleOf(vehicle)),
    make("div", { class: "facts" }, ...facts(vehicle),
      make("div", { class: "row" },
        make("button", { type: "button", onclick: () => openVehicle(vehicle) }, "Details"),
        make("label", { class: "pick", title: label }, pick, "Compare"))));
}

function showBar() {
  const { page, picked } = state;
  const count = page?.vehicles.length ?? 0;
  const buttons = [];
  if (picked.length > 0) {
    buttons.push(make("button", { type: "button", class: "main", disabled: picked.length < 2, onclick: showComparison },
      `Compare ${picked.length}`));
  }
  if (page && page.skip > 0) {
    const before = Math.max(0, page.skip - Math.max(count, page.limit));
    buttons.push(make("button", { type: "button", onclick: () => turnTo(before) }, "Earlier"));
  }
  if (page && page.next !== null) {
    buttons.push(make("button", { type: "button", onclick: () => turnTo(page.next) }, "More"));
  }
  bar.replaceChildren(...buttons);
  bar.hidden = buttons.length === 0;
}

function readPage(document) {
  const data = document.data ?? {};
  const vehicles = Array.isArray(data.vehicles) ? data.vehicles : [];
  const skip = typeof data.skip === "number" ? data.skip : 0;
  const limit = typeof data.limit === "number" ? data.limit : vehicles.length;
  const end = skip + vehicles.length;
  let next = typeof document.next_skip === "number" ? document.next_skip : null;
  if (next === null && document.dealers === undefined && vehicles.length > 0 && end < data.total) next = end;
  const count = typeof data.total === "number" ? data.total.toLocaleString("en-US") : "an unknown number";
  const note = vehicles.length > 0 ? `${skip + 1} to ${end} of ${count}` : (document.message ?? "No vehicle matches.");
  return { vehicles, skip, limit, next, note, errors: document.errors ?? [] };
}

function showGallery() {
  const { page } = state;
  const errors = page.errors.map((error) =>
    make("p", { class: "warn" }, `Not included: ${error.dealer ?? error.seller ?? ""} ${error.message ?? ""}`));
  show("Vehicles", page.note, make("div", { class: "grid" }, ...page.vehicles.map(card)), ...errors);
  showBar();
}

async function turnTo(skip) {
  say("Loading…");
  const given = { ...state.input, pagination: { ...state.input.pagination, skip } };
  await perform(SEARCH, given);
}

async function openVehicle(vehicle) {
  say("Loading…");
  await perform(VEHICLE, { ...dealerOf(vehicle), ...called(vehicle) }, vehicle);
}

// Calls a tool and shows its result; a failed call stays on the page.
async function perform(tool, given, vehicle) {
  let result;
  try {
    result = await callTool(tool, given);
  } catch (error) {
    say(`That did not work: ${error.message}`);
    return null;
  }
  showResult(tool, given, result, vehicle);
  return result;
}

function back() {
  return state.page ? make("button", { type: "button", onclick: showGallery }, "Back to the list") : null;
}

const HIDDEN = new Set(["photos", "vdp_url", "doubtful", "dealer_id", "vehicle_id"]);

function said(value) {
  if (Array.isArray(value)) return value.map(said).filter(Boolean).join(", ");
  if (value !== null && typeof value === "object") {
    return Object.entries(value).map(([key, inner]) => `${wordsOf(key)}: ${said(inner)}`).join("; ");
  }
  return value === null || value === undefined ? "" : String(value);
}

const ABBREVIATIONS = new Set(["vin", "msrp"]);

function wordsOf(key) {
  if (ABBREVIATIONS.has(key)) return key.toUpperCase();
  const words = key.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function shown(key, value) {
  if (key === "mileage") return miles(value);
  if (typeof value === "number" && /price|msrp|fee/.test(key)) return dollars(value);
  return said(value);
}

function showVehicle(vehicle) {
  const rows = Object.entries(vehicle).filter(([key, value]) => !HIDDEN.has(key) && said(value) !== "");
  const photos = (Array.isArray(vehicle.photos) ? vehicle.photos : []).slice(0, 12);
  const contact = make("button", { type: "button", class: "main", onclick: () => showForm(vehicle) }, "Contact the dealer");
  const buttons = [contact, link(vehicle, "Open the dealer's page"), back()];
  show(titleOf(vehicle), [dollars(vehicle.price), miles(vehicle.mileage)].filter(Boolean).join(" · "),
    make("div", { class: "photos" }, ...photos.map((address) => photo(address, titleOf(vehicle)))),
    make("div", { class: "row" }, ...buttons.filter(Boolean)),
    make("div", { class: "wide" }, make("table", {}, make("tbody", {}, ...rows.map(([key, value]) =>
      make("tr", {}, make("th", { scope: "row" }, wordsOf(key)), make("td", {}, shown(key, value))))))));
}

const COMPARED = ["price", "mileage", "condition", "status", "body", "driveline", "transmission", "fuel", "engine",
  "exterior_color", "interior_color", "rooftop", "dealer", "stock", "vin"];

function showComparison() {
  const picked = state.picked;
  const head = make("tr", {}, make("th", { scope: "col" }, "Vehicle"), ...picked.map((vehicle) =>
    make("td", {}, photo(vehicle.photos?.[0], titleOf(vehicle)), make("h2", {}, titleOf(vehicle)),
      make("button", { type: "button", onclick: () => openVehicle(vehicle) }, "Details"))));
  const rows = COMPARED.filter((key) => picked.some((vehicle) => said(vehicle[key]) !== "")).map((key) =>
    make("tr", {}, make("th", { scope: "row" }, wordsOf(key)), ...picked.map((vehicle) =>
      make("td", {}, shown(key, vehicle[key]) || "—"))));
  show("Compare", `${picked.length} vehicles`,
    make("div", { class: "row" }, back()),
    make("div", { class: "wide compare", tabIndex: 0, role: "region", "aria-label": "Comparison" },
      make("table", {}, make("tbody", {}, head, ...rows))));
}

function field(name, label, value, properties) {
  const id = `field-${name}`;
  const input = make(properties.rows ? "textarea" : "input", { id, name, value: value ?? "", ...properties });
  return make("div", { class: "field" }, make("label", { htmlFor: id }, label), input);
}

// Calls the lead tool. A failed call stays on the page, so that nothing has to be typed again.
async function sendLead(button, status, sent, given, vehicle) {
  button.disabled = true;
  try {
    const result = await callTool(LEAD, sent);
    if (result.isError) status.replaceChildren(...problemsOf(result));
    else showResult(LEAD, given, result, vehicle);
  } catch (error) {
    status.textContent = `That did not work: ${error.message}`;
  }
  button.disabled = false;
}

function showForm(vehicle) {
  const status = make("p", { class: "warn", role: "alert" });
  // Hosts may forbid frames to submit forms, so a button reads the fields.
  const next = async (event) => {
    if (!form.reportValidity()) return;
    const given = leadOf(vehicle, new FormData(form));
    if (given.consent.allowed_channels.length === 0) {
      status.textContent = "Choose how the dealer may answer.";
      return;
    }
    status.textContent = "";
    state.draft = { vehicle: keyOf(vehicle), given };
    await sendLead(event.currentTarget, status, given, given, vehicle);
  };
  const draft = state.draft?.vehicle === keyOf(vehicle) ? state.draft.given : {};
  const { customer = {}, message = "" } = draft;
  const allowed = draft.consent?.allowed_channels ?? [];
  const form = make("form", {},
    field("first_name", "First name", customer.first_name, { required: true, maxLength: 80, autocomplete: "given-name" }),
    field("last_name", "Last name", customer.last_name, { required: true, maxLength: 80, autocomplete: "family-name" }),
    make("fieldset", {}, make("legend", {}, "The dealer may answer by"), ...CHANNELS.map(([value, label]) =>
      make("label", { class: "check" },
        make("input", { type: "checkbox", name: "channel", value, checked: allowed.includes(value) }), label))),
    field("email", "E-mail address", customer.email, { type: "email", maxLength: 200, autocomplete: "email" }),
    field("phone", "Telephone, such as +14155550100", customer.phone, { type: "tel", maxLength: 20, autocomplete: "tel" }),
    field("message", "Message", message, { rows: 3, maxLength: 1000 }),
    status,
    make("div", { class: "row" },
      make("button", { type: "button", class: "main", onclick: next }, "Continue"),
      make("button", { type: "button", onclick: () => showVehicle(vehicle) }, "Back")),
    make("p", { class: "quiet" }, "Nothing is sent yet: you read what you agree to first."));
  show(titleOf(vehicle), "Contact the dealer about this vehicle.", form);
}

function leadOf(vehicle, data) {
  const text = (name) => String(data.get(name) ?? "").trim();
  const channels = data.getAll("channel").map(String);
  const customer = { first_name: text("first_name"), last_name: text("last_name") };
  // Only what a permitted channel needs leaves this page.
  if (channels.includes("email") && text("email")) customer.email = text("email");
  if ((channels.includes("phone") || channels.includes("sms")) && text("phone")) {
    customer.phone = text("phone").replace(/[\s().-]/g, "");
  }
  // The consent text names the car by these.
  const isNamed = ([key, value]) => ["year", "make", "model"].includes(key) && said(value) !== "";
  const named = Object.fromEntries(Object.entries(vehicle).filter(isNamed));
  const given = {
    ...dealerOf(vehicle),
    customer,
    consent: { allowed_channels: channels },
    vehicle_of_interest: { ...named, ...called(vehicle) },
  };
  if (text("message")) given.message = text("message");
  return given;
}

function problemsOf(result) {
  const document = result.structuredContent ?? {};
  const listed = document.problems ?? document.details?.errors ?? [];
  const of = (problem) => {
    const place = String(problem.field ?? problem.instanceLocation ?? "").split("/").pop();
    const why = problem.problem ?? problem.error ?? problem.message ?? "";
    return `${wordsOf(place)} ${why}`.trim();
  };
  const items = listed.map((problem) => make("li", {}, of(problem)));
  const message = document.message ?? result.content?.[0]?.text ?? "the call failed";
  const first = items.length > 0 ? "Please correct:" : message;
  return [String(first), items.length > 0 ? make("ul", { class: "problems" }, ...items) : ""];
}

// Shows the text to which the person agrees. The same arguments go out again with the confirmation, by their click.
function showConsent(given, document, vehicle) {
  const status = make("p", { class: "warn", role: "alert" });
  const send = make("button", { type: "button", class: "main" }, "I agree, send it");
  send.addEventListener("click", async (event) => {
    // A program that clicks is nobody who agrees.
    if (!event.isTrusted) return;
    const again = { ...given, confirmation: document.confirmation, consent_shown_to_user: true };
    await sendLead(send, status, again, given, vehicle);
  });
  const parts = Object.entries(document.lead ?? {}).filter(([key]) => key !== "type");
  const leave = () => (vehicle ? showVehicle(vehicle) : show("Not sent", "Nothing was sent.", back() ?? ""));
  show("Before anything is sent", document.dealer ? `To ${document.dealer}` : "",
    make("blockquote", {}, String(document.consent_text ?? "")),
    make("table", {}, make("tbody", {}, ...parts.map(([key, value]) =>
      make("tr", {}, make("th", { scope: "row" }, wordsOf(key)), make("td", {}, said(value)))))),
    status,
    make("div", { class: "row" }, send, make("button", { type: "button", onclick: leave }, "Do not send")));
}

function showReceipt(document) {
  state.draft = null;
  const data = document.data ?? {};
  const rows = [["Status", data.status], ["Lead", data.lead_id], ["Dealer", said(data.dealer)],
    ["Appointment", said(data.appointment)]].filter(([, value]) => value);
  show("Sent", document.message ?? "", make("table", {}, make("tbody", {}, ...rows.map(([key, value]) =>
    make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, said(value)))))), back() ?? "");
}

function showResult(tool, given, result, vehicle) {
  const document = result.structuredContent ?? {};
  if (result.isError) {
    show("That did not work", "", make("div", {}, ...problemsOf(result)), back() ?? "");
    return;
  }
  if (document.status === "confirmation_required") {
    showConsent(given, document, vehicle);
  } else if (Array.isArray(document.data?.vehicles)) {
    state.input = given;
    state.page = readPage(document);
    showGallery();
  } else if (document.data?.lead_id) {
    showReceipt(document);
  } else if (document.data && tool !== LEAD) {
    showVehicle({ ...vehicle, ...document.data, ...(document.dealer ? { dealer: document.dealer } : {}) });
  } else {
    show("Result", "", make("p", {}, String(result.content?.[0]?.text ?? "")));
  }
}

const size = () => post({
  method: "ui/notifications/size-changed",
  params: { width: Math.ceil(document.documentElement.scrollWidth), height: Math.ceil(document.body.getBoundingClientRect().height) },
});

async function begin() {
  const answer = await ask("ui/initialize", {
    protocolVersion: PROTOCOL,
    appInfo: { name: "tradepost-shop", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
  });
  applyContext(answer?.hostContext ?? {});
  post({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(size).observe(document.body);
}

begin().catch(() => say("This page belongs into a host of MCP Apps."));
