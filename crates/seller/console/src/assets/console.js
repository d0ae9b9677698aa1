// The console works without this. It adds: news of the inbox, keys to move in lists, the way to the
// search, the list of keys, moving appointments in the calendar, a question before what cannot be undone,
// buttons that say that a form is being sent, and nothing instead of photos that are gone.
"use strict";

// Photos that cannot be had.
for (const photo of document.querySelectorAll(".photo img")) {
  const gone = () => photo.remove();
  if (photo.complete && photo.naturalWidth === 0) gone();
  else photo.addEventListener("error", gone);
}

// Whoever means it says so twice.
for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.ask)) event.preventDefault();
  });
}

// On a phone the list of pages scrolls to the page that is shown.
const here = document.querySelector(".side nav [aria-current]");
if (here) here.closest("nav").scrollLeft = here.offsetLeft - here.closest("nav").offsetLeft - 16;

// A form is sent once. Its button says so until the next page is there. Whoever comes back to a page that the browser
// has kept, or stops it, can send the form again, with what was typed.
const STOPPED_AFTER = 15000;
document.addEventListener("submit", (event) => {
  const form = event.target;
  // A file leaves the page as it is.
  if (event.defaultPrevented || form.method !== "post" || "download" in form.dataset) return;
  const buttons = [...form.elements].filter((it) => it.type === "submit" && !it.disabled);
  const pressed = event.submitter || buttons[0];
  // Afterwards: the value of a button that is disabled is not sent.
  setTimeout(() => {
    for (const button of buttons) button.disabled = true;
    const restore = pressed ? sayBusy(pressed) : () => {};
    const end = new AbortController();
    const free = () => {
      if (end.signal.aborted) return;
      end.abort();
      for (const button of buttons) button.disabled = false;
      restore();
    };
    window.addEventListener("pageshow", (shown) => shown.persisted && free(), { signal: end.signal });
    setTimeout(free, STOPPED_AFTER);
  });
});

// Returns what gives a button its words back.
function sayBusy(button) {
  const words = [...button.childNodes];
  const name = button.getAttribute("aria-label");
  const width = button.style.minWidth;
  button.style.minWidth = `${button.offsetWidth}px`;
  button.removeAttribute("aria-label");
  button.textContent = button.dataset.busy || "Saving…";
  return () => {
    button.replaceChildren(...words);
    if (name !== null) button.setAttribute("aria-label", name);
    button.style.minWidth = width;
  };
}

// What only works with scripts.
for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;

// The list of keys, and whether those of one sign are used on this device.
const help = document.getElementById("help");
const oneKey = document.querySelector("[data-one-key]");
if (oneKey) {
  // A browser may keep nothing; then they are used.
  try {
    oneKey.checked = localStorage.getItem("one-key") !== "off";
    oneKey.addEventListener("change", () => localStorage.setItem("one-key", oneKey.checked ? "on" : "off"));
  } catch {}
}
for (const link of document.querySelectorAll("[data-help]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    help.showModal();
  });
}

function findSearch(event) {
  const search = document.querySelector("[data-search]");
  event.preventDefault();
  if (!search) return window.location.assign("/console/leads");
  search.focus();
  search.select();
}

// Ctrl+K, Command+K and / lead to the search, ? to the list of keys; arrows move in a list that has the focus.
document.addEventListener("keydown", (event) => {
  const isAlone = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!isAlone && !event.altKey && event.key === "k") return findSearch(event);
  const isWriting = event.target.closest && event.target.closest("input, textarea, select, dialog");
  if (isAlone && !isWriting && oneKey && oneKey.checked) {
    if (event.key === "/") return findSearch(event);
    if (event.key === "?") return help.showModal();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const list = event.target.closest && event.target.closest("[data-list]");
  if (!step || !list || event.defaultPrevented) return;
  const links = [...list.querySelectorAll(list.dataset.list || "a")];
  const next = links[links.indexOf(event.target) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});

// Appointments in the calendar are moved by dragging or by keys. Both fill in the form that moves without them.
const grid = document.querySelector("[data-grid]");
let held = null;

function formOf(link) {
  const listed = document.getElementById(`appt-${link.dataset.visit}`);
  return listed && listed.querySelector('form[action$="/move"]');
}

function tell(text) {
  document.querySelector("[data-told]").textContent = text;
}

function pickUp(link) {
  held = { link, cell: link.closest("td"), home: link.closest("td") };
  link.classList.add("held");
}

function choose(cell) {
  held.cell.classList.remove("target");
  held.cell = cell;
  if (cell !== held.home) cell.classList.add("target");
  tell(`${held.link.dataset.who}: ${cell.dataset.name}`);
}

function putDown(text) {
  held.cell.classList.remove("target");
  held.link.classList.remove("held");
  held = null;
  tell(text);
  setTimeout(() => held || tell(""), 5000);
}

function drop() {
  const { link, cell, home } = held;
  if (cell === home) return putDown("Not moved.");
  putDown(`Moving to ${cell.dataset.name}`);
  const form = formOf(link);
  // A field for local time cannot hold the offset, which tells apart the hours of a day on which clocks are set back.
  form.elements.at.type = "hidden";
  form.elements.at.value = cell.dataset.at;
  form.requestSubmit();
}

// Returns the next open slot in a direction. An appointment stays in its department.
function slotFrom(cell, down, right) {
  if (right && grid.dataset.grid === "departments") return null;
  const rows = grid.tBodies[0].rows;
  let row = cell.parentElement.sectionRowIndex + down;
  let column = cell.cellIndex + right;
  while (rows[row] && column > 0 && rows[row].cells[column]) {
    const found = rows[row].cells[column];
    if (found.dataset.at || found === held.home) return found;
    row += down;
    column += right;
  }
  return null;
}

if (grid) {
  grid.addEventListener("keydown", (event) => {
    const link = event.target.closest("[data-visit]");
    if (!held) {
      if (!link || event.key.toLowerCase() !== "m" || event.ctrlKey || event.metaKey || !formOf(link)) return;
      event.preventDefault();
      pickUp(link);
      return tell(`${link.dataset.who} is picked up. Choose the time with the arrow keys; Enter moves, Escape cancels.`);
    }
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (step) {
      const next = slotFrom(held.cell, ...step);
      if (next) choose(next);
      else tell("No open time in this direction.");
      held.cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter") drop();
    else if (event.key === "Escape") putDown("Not moved.");
    else return;
    event.preventDefault();
  });
  grid.addEventListener("focusout", () => held && putDown("Not moved."));
  grid.addEventListener("pointerdown", (begin) => {
    const link = begin.target.closest("[data-visit]");
    // A finger scrolls; it uses the form.
    if (!link || held || begin.button !== 0 || begin.pointerType === "touch" || !formOf(link)) return;
    const end = new AbortController();
    const listen = (name, act) => document.addEventListener(name, act, { signal: end.signal, capture: true });
    listen("pointermove", (event) => {
      if (!held && Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) < 6) return;
      if (!held) pickUp(link);
      const under = document.elementFromPoint(event.clientX, event.clientY);
      const cell = under && under.closest("[data-grid] td");
      const isOpen = cell && (cell.dataset.at || cell === held.home);
      const isOwn = cell && (grid.dataset.grid === "days" || cell.cellIndex === held.home.cellIndex);
      choose(isOpen && isOwn ? cell : held.home);
    });
    listen("pointerup", () => {
      end.abort();
      if (!held) return;
      // The click that follows would open the lead.
      const stop = (event) => event.preventDefault();
      document.addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => document.removeEventListener("click", stop, { capture: true }));
      drop();
    });
    listen("pointercancel", () => {
      end.abort();
      if (held) putDown("Not moved.");
    });
    listen("keydown", (event) => {
      if (event.key !== "Escape") return;
      end.abort();
      if (held) putDown("Not moved.");
    });
  });
}

// News of a page that has some, while somebody looks at it.
const news = document.getElementById("news");
const title = document.title;
async function look() {
  if (document.hidden || news.contains(document.activeElement)) return;
  const answer = await fetch(news.dataset.from || "/console", { headers: { "X-Tradepost-By-Itself": "1" }, redirect: "manual" });
  if (!answer.ok) {
    if (answer.type === "opaqueredirect") window.location.reload();
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("news");
  // What there were news of has ended.
  if (!fresh) return window.location.reload();
  if (fresh.innerHTML !== news.innerHTML) news.replaceChildren(...fresh.childNodes);
  const count = page.querySelector("[data-count]");
  document.title = count ? `(${count.dataset.count}) ${title}` : title;
}
if (news) {
  setInterval(() => look().catch(() => {}), Number(news.dataset.every) || 10000);
}
