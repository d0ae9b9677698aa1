// The console works without this. It adds: news of the inbox, keys to move in lists, the way to the
// search, a question before what cannot be undone, and nothing instead of photos that are gone.
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

// Ctrl+K, or Command+K, leads to the search; arrows move in a list that has the focus.
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else {
      event.preventDefault();
      window.location.assign("/console/leads");
    }
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const list = event.target.closest && event.target.closest("[data-list]");
  if (!step || !list) return;
  const links = [...list.querySelectorAll("a")];
  const next = links[links.indexOf(event.target) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});

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
