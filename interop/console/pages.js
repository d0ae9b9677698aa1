// What the walks through the console share: a browser, its screens, and what has to be so on every page. axe-core
// must find no violation, no page may log an error or be wider than the screen, texts of buyers must not run as
// script, no badge may lie over a text, nothing may stick out of its box, and a table that is wider than its box must
// show that it scrolls.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

// Text of a buyer that must not run.
export const EVIL = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>"'&\${7*7}`;

// Results of a walk.
export const results = { passed: 0, failed: 0, tablesThatScroll: 0 };

export function check(name, isSo, detail = "") {
  if (isSo) results.passed += 1;
  else results.failed += 1;
  if (!isSo) console.log(`FAIL  ${name} ${detail}`);
}

export const browser = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

export const SCREENS = {
  wide: { viewport: { width: 1280, height: 860 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", isMobile: true, hasTouch: true },
};

export async function open(screen) {
  const context = await browser.newContext({ ...SCREENS[screen], bypassCSP: false });
  // The photos do not exist; a request for anything else from another site is an error.
  const elsewhere = [];
  await context.route(/^(?!http:\/\/127\.0\.0\.1)/, (route) => {
    elsewhere.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("ERR_FAILED")) said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(String(error)));
  return { context, page, said, elsewhere };
}

export async function signIn(site, page, name, word) {
  await page.goto(`${site}/sign-in`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(word);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith("/sign-in"));
}

// Widths of tablets and desks at which badges and texts share a line, in pixels.
export const DESKS = [768, 1024, 1152, 1280, 1366, 1440];

// Returns the badges that lie over a text beside them, each with that text.
export function covered() {
  const visible = (rect, node) => {
    let { left, top, right, bottom } = rect;
    for (let at = node.parentElement; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowX === "visible") continue;
      const box = at.getBoundingClientRect();
      left = Math.max(left, box.left);
      right = Math.min(right, box.right);
      top = Math.max(top, box.top);
      bottom = Math.min(bottom, box.bottom);
    }
    return { left, top, right, bottom };
  };
  const texts = (root) => {
    const found = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      // What a closed <details> hides has a place, too.
      const isHidden = node.parentElement.closest(".unseen") || !node.parentElement.checkVisibility();
      if (!node.data.trim() || isHidden) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) found.push({ node, box: visible(rect, node) });
    }
    return found;
  };
  // Boxes that share an edge, also with a rounded pixel, do not overlap.
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const all = texts(document.body);
  const found = [];
  for (const badge of document.querySelectorAll(".chip, .count")) {
    const boxes = [badge.getBoundingClientRect(), ...texts(badge).map((text) => text.box)];
    const under = all.find(({ node, box }) => !badge.contains(node) && boxes.some((one) => overlap(one, box)));
    if (under) found.push(`"${badge.textContent.trim()}" over "${under.node.data.trim()}"`);
  }
  return { badges: document.querySelectorAll(".chip, .count").length, found };
}

// Returns the visible elements that reach beyond the box around them: a card, a list, the side or the window. What
// lies in a box that scrolls may be wider.
export function sticksOut() {
  const boxes = ".card, .list, .figure, .empty, .bar, .tabs, .stages, .side, .done, .trouble, details, dialog, main";
  const found = [];
  for (const node of document.body.querySelectorAll("*")) {
    if (node.closest(".unseen, .skip, svg") || !node.checkVisibility() || node.offsetWidth === 0) continue;
    const scroller = node.parentElement.closest(".scroll, pre, .what, .side");
    if (scroller) continue;
    const own = node.getBoundingClientRect();
    const around = node.parentElement.closest(boxes);
    const box = around ? around.getBoundingClientRect() : { left: 0, right: document.documentElement.clientWidth };
    if (own.right > box.right + 1 || own.left < box.left - 1) {
      const text = node.textContent.trim().slice(0, 40);
      found.push(`<${node.localName} class="${node.className}"> "${text}" by ${Math.round(own.right - box.right)} pixels`);
    }
  }
  return found;
}

// Returns the number of tables that are wider than their box, and those whose box does not show it: by shadows
// at its edges, which covers that scroll with the table hide at the ends.
function wideTables() {
  const wide = [...document.querySelectorAll("table")].filter((it) => it.offsetWidth > it.parentElement.clientWidth);
  const isMarked = (box) => {
    const { overflowX, backgroundAttachment, backgroundImage } = getComputedStyle(box);
    const shadows = backgroundAttachment.split(", ").filter((it) => it === "scroll").length;
    const covers = backgroundAttachment.split(", ").filter((it) => it === "local").length;
    const gradients = backgroundImage.split("linear-gradient").length - 1;
    return overflowX === "auto" && covers >= 2 && shadows >= 2 && gradients >= 4 && box.tabIndex === 0;
  };
  const unmarked = wide.map((it) => it.parentElement).filter((box) => !isMarked(box));
  return { wide: wide.length, unmarked: unmarked.map((box) => box.getAttribute("aria-label") ?? box.className) };
}

// Returns the buttons of lists that touch the edge of their list.
function atTheEdge() {
  const gap = (it) => it.getBoundingClientRect().left - it.closest(".list").getBoundingClientRect().left;
  const all = [...document.querySelectorAll(".list button, .list summary")];
  return all.filter((it) => it.offsetWidth > 0 && gap(it) < 12).map((it) => it.textContent.trim());
}

// Returns the check of a page, which takes screenshots into a folder if there is one.
export function looking(shots) {
  if (shots) mkdirSync(shots, { recursive: true });
  return (page, said, name, shot) => look(page, said, name, shots && join(shots, `${shot}.png`));
}

async function look(page, said, name, path) {
  // axe is injected through the DevTools protocol, so the page's content security policy does not block it.
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const told = found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary}`);
  check(`axe finds nothing: ${name}`, told.length === 0, `\n      ${told.join("\n      ")}`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth);
  check(`fits the screen: ${name}`, over <= page.viewportSize().width, `${over} pixels wide`);
  const out = await page.evaluate(sticksOut);
  check(`nothing sticks out of its box: ${name}`, out.length === 0, out.join("; "));
  const tables = await page.evaluate(wideTables);
  results.tablesThatScroll += tables.wide;
  check(`tables show that they scroll: ${name}`, tables.unmarked.length === 0, tables.unmarked.join("; "));
  const edge = await page.evaluate(atTheEdge);
  check(`no button touches the edge of its list: ${name}`, edge.length === 0, edge.join("; "));
  check(`no text of a buyer ran as script: ${name}`, !(await page.evaluate(() => window.broken)));
  check(`no errors in the console: ${name}`, said.length === 0, said.splice(0).join("; "));
  if (path) await page.screenshot({ path, fullPage: true });
}

// Returns what takes screenshots of a page in light and dark into a folder, if there is one.
export function photographing(shots) {
  return async (page, shot) => {
    for (const colorScheme of shots ? ["dark", "light"] : []) {
      await page.emulateMedia({ colorScheme });
      const path = join(shots, `${shot}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true, animations: "disabled" });
    }
  };
}

// Ends a walk.
export async function end() {
  await browser.close();
  console.log(`${results.passed} passed, ${results.failed} failed`);
  process.exitCode = results.failed > 0 ? 1 : 0;
}
