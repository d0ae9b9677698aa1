// Opens a page of `tradepost probe --format html` in Debian's Chromium, on a phone and on a desk, with every
// check opened: nothing may be wider than the screen, and the page may complain of nothing.
//
//   node probe-page.js REPORT.html [FOLDER_FOR_SCREENSHOTS]
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, shots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const address = pathToFileURL(resolve(report)).href;
let failed = 0;
for (const width of [390, 1280]) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(address);
  if (shots) {
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `probe-${width}.png`) });
  }
  const { checks, wide } = await page.evaluate(() => {
    const details = [...document.querySelectorAll("details")];
    for (const check of details) check.open = true;
    const beyond = (it) => it.getBoundingClientRect().right > innerWidth + 1;
    const found = [...document.querySelectorAll("body *")].filter(beyond);
    return { checks: details.length, wide: found.map((it) => `${it.tagName}.${it.className}`) };
  });
  const scrolls = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  const isFine = checks > 0 && wide.length === 0 && !scrolls && complaints.length === 0;
  if (!isFine) failed += 1;
  console.log(`${isFine ? "ok   " : "FAIL "} the prober's page at ${width} px, ${checks} checks ${[...new Set(wide)].slice(0, 5)} ${complaints}`);
  await page.close();
}
await browser.close();
console.log(`${2 - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
