// A sale from its beginning to its numbers, with nothing prepared but what docs/publisher.md and docs/ad-server.md name:
// a buyer on AdCP's own Python client asks for an account and a media buy, a named person approves both in the console,
// the buy becomes one order at an ad server that others wrote, delivers there, and its numbers reach the buyer.
//
//   node ad-server-sale.js TRADEPOST mock|kevel FOLDER [KEVEL_SPECIFICATION] [FOLDER_FOR_SCREENSHOTS]
//
// `mock` is the AdCP SDK's mock ad server, `kevel` a stand-in that Prism judges by Kevel's own OpenAPI where its
// specification is given. FOLDER is a new folder for the publisher's data.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { join, resolve } from "node:path";
import { KevelStandIn } from "../ad-server/kevel-stand-in.js";
import { check, end, looking, open, signIn } from "./pages.js";

const [tradepost, kind, folder, specification, shots] = process.argv.slice(2);
const look = looking(shots);
const interop = resolve(import.meta.dirname, "..");
const secret = "correct horse battery";

async function mockAdServer() {
  const sdk = join(interop, "adcp-js/node_modules/@adcp/sdk/dist/lib/mock-server/index.js");
  const { bootMockServer } = createRequire(import.meta.url)(sdk);
  const mock = await bootMockServer({ specialism: "sales-guaranteed", port: 0 });
  const traffic = async () => (await (await fetch(`${mock.url}/_debug/traffic`)).json()).traffic;
  return {
    settings: { adapter: "http", url: mock.url, credential: mock.auth.apiKey, network: "net_premium_us", advertiser: "adv_acme" },
    inventory: ["product/sports_preroll_q2_guaranteed", "ad_unit/au_us_video_preroll"],
    async made() {
      const seen = await traffic();
      return [seen["POST /v1/orders"], seen["POST /v1/orders/{id}/lineitems"], seen["POST /v1/creatives"]];
    },
    stop: () => mock.close(),
  };
}

async function kevelStandIn() {
  const kevel = new KevelStandIn();
  const url = await kevel.start(specification ? resolve(specification) : undefined);
  kevel.lists.priority.push({ Id: 7, Name: "Sponsorship" });
  kevel.lists.adtypes.push({ Id: 5, Width: 300, Height: 250 });
  kevel.lists.site.push({ Id: 12, Title: "Gazette" });
  return {
    settings: { adapter: "kevel", url, credential: "the-key", advertiser: "3", priority: 7 },
    inventory: ["site/12"],
    async made() {
      const posts = (path) => kevel.seen.filter((one) => one.method === "POST" && one.path === path).length;
      return ["/v1/campaign", "/v1/flight", "/v1/creative"].map(posts);
    },
    stop: () => kevel.stop(),
  };
}

async function freePort() {
  const server = net.createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const adServer = await (kind === "kevel" ? kevelStandIn() : mockAdServer());
mkdirSync(folder, { recursive: true });
const config = join(folder, "publisher.toml");
const catalogue = JSON.parse(readFileSync(join(interop, "console/catalogue.json"), "utf8"));
const front = catalogue.products.find((product) => product.product_id === "front");
front.terms = { approval: true, ad_server: { inventory: adServer.inventory } };
catalogue.creatives = { review: "none" };
const click = { item_type: "individual", asset_id: "click", asset_type: "url", required: true };
const banner = catalogue.formats.find((format) => format.format_id.id === "display_300x250");
banner.assets.push(click);
// The client names AdCP's own kind in place of the publisher's format.
banner.canonical = { kind: "image" };
writeFileSync(join(folder, "catalogue.json"), JSON.stringify(catalogue));
const port = await freePort();
const settings = Object.entries({ ...adServer.settings, report_every: "1m" });
writeFileSync(config, [
  readFileSync(join(interop, "console/publisher.toml"), "utf8")
    .replaceAll("CONSOLE_PORT", `${port}`)
    .replaceAll("CATALOGUE", join(folder, "catalogue.json"))
    .replace("\n[[publishers.agents]]", `\n[publishers.ad_server]\n${settings.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n")}\n\n[[publishers.agents]]`),
].join("\n"));
const data = join(folder, "data");
const place = ["--config", config, "--data", data];
// Without blocking: the ad server runs in this process.
const program = (file, words) => new Promise((done, failed) => {
  const child = execFile(file, words, (error, stdout, stderr) => {
    if (error) failed(new Error(`${words.join(" ")}: ${stderr}`));
    else done(stdout.trim());
  });
  child.stdin.end(secret);
});
const run = (...words) => program(tradepost, [...words, ...place]);

await run("console", "user", "add", "amy", "--role", "approver", "--publisher", "gazette", "--password-stdin");
const key = await run("keys", "create", "--publisher", "gazette", "--name", "acme");
check("the connection is tested", (await run("publisher", "ad-server", "check", "--json")).length > 0);
const server = spawn(tradepost, ["serve", ...place], { stdio: ["ignore", "pipe", "pipe"] });
let log = "";
server.stderr.on("data", (text) => (log += text));
const agent = await new Promise((done, failed) => {
  let said = "";
  server.stdout.on("data", (text) => {
    said += text;
    const found = /^listening on (\S+)$/m.exec(said);
    if (found) done(found[1]);
  });
  server.on("exit", (code) => failed(new Error(`the server has ended with ${code}: ${log}`)));
});
const site = `http://127.0.0.1:${port}/console`;
const python = join(interop, "adcp-python/.venv/bin/python");
const buyer = async (...words) => {
  const said = await program(python, [join(interop, "adcp-python/buyer.py"), agent, key, ...words]);
  return JSON.parse(said.split("\n").at(-1));
};
async function until(what, looks) {
  for (let turn = 0; turn < 150; turn += 1) {
    const found = await looks();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 1000));
  }
  check(what, false, "it did not come within 150 seconds");
  return undefined;
}

try {
  const opened = await buyer("open");
  const account = opened.accounts[0].account_id;
  const { context, page, said } = await open("wide");
  await signIn(site, page, "amy", secret);
  await page.goto(site);
  await page.locator("[data-list] a").first().click();
  await page.getByRole("button", { name: "Approve" }).click();
  check("a named person approves the account", await page.getByRole("status").isVisible());

  const asked = await buyer("buy", account, "front", "cpm", "4000");
  check("the buy waits for a person", !JSON.stringify(asked).includes("media_buy_id"), JSON.stringify(asked).slice(0, 300));
  check("nothing is sold before the approval", (await adServer.made()).every((count) => !count));
  await page.goto(site);
  await page.getByText("4,000 USD").click();
  await page.getByRole("button", { name: "Approve" }).click();
  check("a named person approves the buy", await page.getByText("It is approved.").isVisible());

  const [bought] = await until("the buyer sees the buy", async () => {
    const found = (await buyer("buys", account)).media_buys ?? [];
    return found.length > 0 && found;
  });
  const status = async () => JSON.parse(await run("publisher", "ad-server", "status", "--json"));
  const buyPage = `${site}/buys/show?${new URLSearchParams({ id: bought.media_buy_id })}`;
  const order = await until("the order settles", async () => {
    const found = [await status()].flat().find((row) => row.media_buy_id === bought.media_buy_id);
    if (found?.phase === "waits") {
      // Somebody at the ad server approves it meanwhile.
      await page.goto(buyPage);
      await page.getByRole("button", { name: "Ask again now" }).click();
    }
    return found && ["settled", "stopped"].includes(found.phase) && found;
  });
  check("the ad server has what was sold", order?.phase === "settled", JSON.stringify(order));
  check("there is one order, one line item and one creative", `${await adServer.made()}` === "1,1,1", `${await adServer.made()}`);

  await page.goto(buyPage);
  check("the page shows the order", await page.getByText(order.order, { exact: false }).first().isVisible());
  check("the page shows the line item", await page.getByText(order.line_items[0], { exact: false }).first().isVisible());
  check("the page says that it is as sold", await page.locator(".chip").getByText("As sold").isVisible());
  await look(page, said, "a buy at the ad server", `publisher-ad-server-${kind}`);

  const delivered = await until("the buyer reads the delivery", async () => {
    const found = await buyer("delivery", account, bought.media_buy_id);
    return found.media_buy_deliveries?.[0]?.totals?.impressions > 0 && found;
  });
  check("the buyer reads impressions and spend", delivered?.media_buy_deliveries[0].totals.spend > 0, JSON.stringify(delivered)?.slice(0, 400));
  await page.reload();
  check("the page shows the delivery", await page.locator("td").getByText(/impressions, /).first().isVisible());
  await look(page, said, "a buy that delivers", `publisher-delivers-${kind}`);
  check("reconciliation finds no difference", (await run("publisher", "ad-server", "reconcile", "--json")) === "[]");
  check("the record names the person", (await run("audit", "list", "--json")).includes("amy"));
  // The settings are warned of once: a product that a person approves is in no proposal.
  const warnings = log.split("\n").filter((line) => / (WARN|ERROR) |panicked/.test(line) && !line.includes("regretted"));
  check("the log has no warning", warnings.length === 0, warnings.join("\n").slice(0, 600));
  await context.close();
} finally {
  server.removeAllListeners("exit");
  server.kill("SIGTERM");
  await adServer.stop();
}
await end();
