// Opens the console of a publisher in Debian's Chromium: every page, in every role, wide and narrow, light and dark,
// and walks a media buy from the inbox to its end: approved, declined, approved by two people, paused and canceled.
//
//   node publisher.js TRADEPOST AGENT_URL CONSOLE_URL DATA CONFIG [FOLDER_FOR_SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { DESKS, EVIL, SCREENS, browser, check, covered, end, looking, open, signIn as enter } from "./pages.js";

const [tradepost, agent, site, data, config, shots] = process.argv.slice(2);
const look = looking(shots);
const signIn = (page, name) => enter(site, page, name, secret);

const secret = "correct horse battery";
const people = { viewer: "vera", seller: "sam", approver: "amy" };
function run(...words) {
  return execFileSync(tradepost, [...words, "--data", data], { input: secret }).toString().trim();
}
for (const [role, name] of [...Object.entries(people), ["approver", "ben"]]) {
  run("console", "user", "add", name, "--role", role, "--publisher", "gazette", "--password-stdin", "--config", config);
}
const key = run("keys", "create", "--publisher", "gazette", "--name", "acme", "--config", config);

async function call(name, args) {
  const answer = await fetch(`${agent}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  const json = await answer.json();
  const found = json.result?.structuredContent;
  if (!found) console.log(JSON.stringify(found ?? json).slice(0, 600));
  return found;
}

const opened = await call("sync_accounts", {
  idempotency_key: crypto.randomUUID(),
  accounts: [{ brand: { domain: "acme.example" }, operator: "acme.example", billing: "operator" }],
});
const account = { account_id: opened.accounts[0].account_id };

// Opens the account by hand, as an approver does.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.approver);
  await page.getByRole("link", { name: /^Account/ }).first().click();
  await page.goto(site);
  await page.locator("[data-list] a").first().click();
  await look(page, said, "an account that waits", "account-waiting");
  await page.getByRole("button", { name: "Approve" }).click();
  check("an account is approved", await page.getByRole("status").isVisible());
  await context.close();
}

const end_time = new Date(Date.now() + 20 * 86_400_000).toISOString();
async function buy(product, budget) {
  return call("create_media_buy", {
    idempotency_key: crypto.randomUUID(), account, brand: { domain: "acme.example" }, start_time: "asap", end_time,
    po_number: EVIL.slice(0, 60),
    packages: [{ product_id: product, pricing_option_id: "cpm", budget }],
  });
}
async function send(creative_id, name, format, assets) {
  return call("sync_creatives", {
    idempotency_key: crypto.randomUUID(), account,
    creatives: [{ creative_id, name, format_id: { agent_url: "https://ads.gazette.example", id: format }, assets }],
  });
}
const sold = (await buy("back", 12500)).media_buy_id;
const waiting = (await buy("front", 2000)).task_id;
const declined = (await buy("front", 3000)).task_id;
const large = (await buy("back", 90000)).task_id;
check("what is above the amount waits", large !== undefined);
const image = { asset_type: "image", url: "https://cdn.acme.example/banner.png", width: 300, height: 250 };
await send("banner", "Spring banner", "display_300x250", { image });
await send("tag", `Tag ${EVIL}`, "tag", { code: { asset_type: "html", content: `<p id=seen>quiet</p>${EVIL}<script>document.getElementById("seen").textContent = "ran"; try { window.top.broken = 1; document.title = parent.document.title } catch { }</script>` } });

const of = (page, id, more = {}) => `/${page}?${new URLSearchParams({ id, ...more })}`;
const PAGES = {
  inbox: "", buys: "/buys", active: "/buys?state=active", buy: of("buys/show", sold), waiting: of("buys/waiting", waiting),
  large: of("buys/waiting", large), creatives: "/creatives", creative: of("creatives/show", "banner"),
  tag: of("creatives/show", "tag"), running: of("creatives/show", "tag", { run: "yes" }), accounts: "/ad-accounts",
  account: of("ad-accounts/show", account.account_id), agents: "/ad-agents", products: "/products", setUp: "/set-up",
  delivery: of("delivery", sold), refusals: "/refusals", people: "/people", own: "/account", audit: "/audit",
};
const ONLY_APPROVER = ["audit"];
const ONLY_REPORTERS = ["delivery"];

for (const [role, name] of Object.entries(people)) {
  for (const screen of Object.keys(SCREENS)) {
    // A role looks the same in the dark.
    if (role !== "approver" && screen === "dark") continue;
    const { context, page, said, elsewhere } = await open(screen);
    await signIn(page, name);
    for (const [what, path] of Object.entries(PAGES)) {
      const answer = await page.goto(`${site}${path}`);
      const may = role === "approver" || (!ONLY_APPROVER.includes(what) && (role === "seller" || !ONLY_REPORTERS.includes(what)));
      check(`${role} ${may ? "may see" : "may not see"} ${what}`, answer.status() === (may ? 200 : 403), `${answer.status()}`);
      if (!may) said.splice(0);
      // The image does not exist, and what a creative logs in its own frame is its own matter.
      if (what === "running" || what === "creative") said.splice(0);
      if (may) await look(page, said, `${what} as ${role} (${screen})`, `publisher-${what}-${role}-${screen}`);
    }
    const wrong = elsewhere.filter((url) => !url.startsWith("https://cdn.acme.example/"));
    check(`no request to another site (${role}, ${screen})`, wrong.length === 0, wrong.join(" "));
    await context.close();
  }
}

// Code of a creative runs in a frame of its own, and reaches nothing of the console.
{
  const { context, page } = await open("wide");
  await signIn(page, people.approver);
  await page.goto(`${site}${PAGES.tag}`);
  check("code is shown as text", (await page.locator("iframe").count()) === 0 && await page.getByText("<p id=seen>").first().isVisible());
  await page.getByRole("link", { name: "Run the code in a sandboxed frame" }).click();
  const frame = page.frameLocator("iframe");
  await frame.getByText("ran").waitFor();
  check("code runs once it is asked for", await frame.getByText("ran").isVisible());
  check("code does not reach the console", !(await page.evaluate(() => window.broken)));
  check("code has an origin of its own", (await page.frames()[1].evaluate(() => window.origin)) === "null");
  const cookies = await page.frames()[1].evaluate(() => { try { return document.cookie; } catch { return "none"; } });
  check("code sees no cookies", cookies === "none" || cookies === "", cookies);
  // Opened by itself it has no origin either.
  await page.goto(`${site}${of("creatives/preview", "tag", { run: "yes" })}`);
  check("a preview has no origin of ours", (await page.evaluate(() => window.origin)) === "null");
  await context.close();
}

// From the inbox to a sale, and to a refusal.
for (const screen of ["wide", "phone"]) {
  const { context, page, said } = await open(screen);
  await signIn(page, people.approver);
  const amount = screen === "wide" ? "2,000 USD" : "3,000 USD";
  await page.getByText(amount).click();
  if (screen === "wide") {
    await page.getByLabel(/Note for your own record/).fill("within the budget");
    await page.getByRole("button", { name: "Approve" }).click();
    check("a buy is approved", await page.getByText("It is approved.").isVisible());
    await page.getByRole("link", { name: "The media buy that came of it" }).click();
    check("the buy is there", await page.getByRole("heading", { name: "Media buy" }).isVisible());
  } else {
    await page.getByLabel("Reason, which the buyer reads").fill("The front page is not for shoes.");
    await page.getByRole("button", { name: "Decline" }).click();
    check("a buy is declined", await page.getByText("It is declined.").isVisible());
  }
  await look(page, said, `a decided buy (${screen})`, `publisher-decided-${screen}`);
  await page.goto(site);
  check(`a decided buy has left the inbox (${screen})`, (await page.getByText(amount).count()) === 0);
  await context.close();
}
const status = await call("get_task_status", { task_id: declined, include_result: true });
check("the buyer reads the reason", JSON.stringify(status).includes("not for shoes"));

// Delivery is reported with a file, whose figures are on the page of the buy afterwards: from a desk, from a phone, and without
// script.
for (const [screen, options, impressions] of [["wide", {}, 1000], ["phone", {}, 2500], ["wide", { javaScriptEnabled: false }, 3000]]) {
  const context = await browser.newContext({ ...SCREENS[screen], ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => message.type() === "error" && said.push(message.text()));
  const what = `${screen}${options.javaScriptEnabled === false ? ", without script" : ""}`;
  const send = async (text) => {
    await page.getByLabel(/CSV or JSON/).setInputFiles({ name: "delivery.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    await page.getByRole("button", { name: "Report delivery" }).click();
    await page.waitForLoadState();
  };
  await signIn(page, people.seller);
  await page.goto(`${site}/buys`);
  check(`the list leads to the form (${what})`, await page.getByRole("link", { name: "Report delivery" }).isVisible());
  await page.goto(`${site}${PAGES.buy}`);
  await page.getByRole("link", { name: "Report delivery" }).click();
  const href = await page.getByRole("link", { name: "Download a CSV to fill in" }).getAttribute("href");
  const table = await (await context.request.get(new URL(href, site).href)).text();
  check(`the table to fill in has the buy (${what})`, table.includes(sold), table);
  await send(table);
  check(`an unfilled table is refused by row and column (${what})`, await page.getByRole("cell", { name: "impressions", exact: true }).isVisible());
  if (options.javaScriptEnabled !== false) {
    said.splice(0);
    await look(page, said, `refused delivery (${what})`, `publisher-delivery-refused-${screen}`);
  }
  await send(table.replace(",,,,,USD,,", `,${impressions},,,12.5,USD,,`));
  check(`delivery is stored (${what})`, await page.getByText("delivery.csv is stored.").isVisible());
  if (options.javaScriptEnabled !== false) await look(page, said, `stored delivery (${what})`, `publisher-delivery-${screen}`);
  await page.getByRole("link", { name: sold }).first().click();
  check(`the figures are on the page of the buy (${what})`, await page.getByText(impressions.toLocaleString("en-US"), { exact: true }).first().isVisible());
  await context.close();
}

// Two people, the second with a page from before the first.
{
  const first = await open("wide");
  const second = await open("wide");
  await signIn(first.page, "amy");
  await signIn(second.page, "ben");
  for (const { page } of [first, second]) await page.goto(`${site}${PAGES.large}`);
  await first.page.getByRole("button", { name: "Approve" }).click();
  check("the first of two approvals is recorded", await first.page.getByText("Your approval is recorded.").isVisible());
  check("whoever has approved has no second vote", (await first.page.getByRole("button", { name: "Approve" }).count()) === 0);
  await look(first.page, first.said, "a buy that awaits another person", "publisher-second-awaited");
  await second.page.getByRole("button", { name: "Approve" }).click();
  check("whoever comes second is told who decided", await second.page.getByText(/amy approved it/).isVisible());
  await look(second.page, second.said.splice(0) && [], "told who decided", "publisher-told");
  await second.page.goto(`${site}${PAGES.large}`);
  await second.page.getByRole("button", { name: "Approve" }).click();
  check("the second approval books it", await second.page.getByText("It is approved.").isVisible());
  await first.context.close();
  await second.context.close();
}

// Paused and canceled, without script.
{
  const context = await browser.newContext({ ...SCREENS.wide, javaScriptEnabled: false });
  const page = await context.newPage();
  await signIn(page, people.approver);
  await page.goto(`${site}${PAGES.buy}`);
  await page.getByLabel(/Reason, which the buyer reads \(optional\)/).fill("A complaint about the landing page.");
  await page.getByRole("button", { name: "Pause" }).click();
  check("a buy is paused without script", await page.getByText("You have paused this media buy").isVisible());
  await page.getByRole("button", { name: "Resume" }).click();
  check("a buy goes on", await page.getByText("It goes on.").isVisible());
  await page.getByText("Cancel it for good…").click();
  await page.getByLabel("Reason, which the buyer reads", { exact: true }).fill("The page is withdrawn.");
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Cancel the media buy" }).click();
  check("a buy is canceled", await page.locator(".head .chip").getByText("Canceled").isVisible());
  await context.close();
}
const bought = await call("get_media_buys", { account, media_buy_ids: [sold] });
check("the buyer reads who canceled", bought.media_buys[0].cancellation?.canceled_by === "seller", JSON.stringify(bought).slice(0, 300));

// A creative is looked at and rejected.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.approver);
  await page.goto(`${site}${PAGES.creative}`);
  check("a preview is a frame", (await page.locator("iframe.preview").count()) === 1);
  said.splice(0);
  await page.getByLabel("Reason, which the buyer reads").fill("The logo is another's.");
  await page.getByRole("button", { name: "Reject" }).click();
  check("a creative is rejected", await page.locator(".head .chip").getByText("Rejected").isVisible());
  await context.close();
}

// A key is shown once.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.approver);
  await page.goto(`${site}/ad-agents`);
  await page.getByRole("button", { name: "Create a key" }).click();
  const fresh = await page.locator("code.secret").textContent();
  await look(page, said, "a new key", "publisher-key");
  await page.getByRole("link", { name: "I have stored the key" }).click();
  check("a key is shown once", !(await page.content()).includes(fresh));
  await context.close();
}

// Badges at the widths of desks.
for (const width of DESKS) {
  const { context, page } = await open("wide");
  await page.setViewportSize({ width, height: 860 });
  await signIn(page, people.approver);
  for (const [what, path] of Object.entries(PAGES)) {
    await page.goto(`${site}${path}`);
    const { found } = await page.evaluate(covered);
    check(`no badge lies over a text: ${what} at ${width} pixels`, found.length === 0, found.join("; "));
  }
  await context.close();
}

await end();
