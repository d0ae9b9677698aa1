// Opens the console in Debian's Chromium: every page, in every role, wide and narrow, light and dark. axe-core
// must find no violation, no page may log an error or be wider than the screen, texts of buyers must not run as
// script, no badge may lie over a text, nothing may stick out of its box, and a table that is wider than its box must
// show that it scrolls.
//
//   node walk.js TRADEPOST AGENT_URL CONSOLE_URL PASSWORD DATA PROVIDER_PORT [FOLDER_FOR_SCREENSHOTS]
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import {
  DESKS, EVIL, SCREENS, browser, check, covered, end, looking, open, photographing, results, signIn as enter, sticksOut,
} from "./pages.js";

const [tradepost, agent, site, password, data, providerPort, shots] = process.argv.slice(2);
const look = looking(shots);
const photograph = photographing(shots);
const signIn = (page, name, word) => enter(site, page, name, word);

// Sends a message, in a conversation if there is one. Returns the whole answer, the receipt of a lead and its id, and
// the conversation.
async function call(payload, contextId) {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ data: payload }], contextId };
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const answer = await fetch(`${agent}/a2a`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  const said = json.result?.message;
  const receipt = said?.parts[0].data.data;
  return { json, receipt, lead: receipt?.lead_id, context: said?.contextId };
}

let phones = 1230;
function lead(first, last, email, more = {}) {
  const granted = new Date(Date.now() - 60_000).toISOString();
  return {
    type: "lead.submit.request",
    customer: { first_name: first, last_name: last, email, phone: `+1415555${String(phones++)}`, preferred_contact: "email" },
    consent: {
      granted_at: granted,
      allowed_channels: ["email"],
      consent_text: "I agree that Larkspur Motors may answer my question about this vehicle by e-mail.",
      scope: ["lead_submission"],
    },
    source_agent: { name: "walk-agent" },
    ...more,
  };
}

// Leads for the pages.
const search = await call({ type: "inventory.search.request", filters: {}, pagination: { limit: 5 } });
const vins = [...JSON.stringify(search.json).matchAll(/"vin":"([A-Z0-9]{17})"/g)].map((m) => m[1]);
const noon = new Date(Date.now() + 3 * 86_400_000);
noon.setUTCHours(20, 0, 0, 0);
// The workshop of the demo is closed on Sundays and on these days.
while (noon.getUTCDay() === 0 || /-(12-25|01-01)T/.test(noon.toISOString())) noon.setUTCDate(noon.getUTCDate() + 1);
const sent = [
  lead("Ada", "Lovelace", "ada@buyer.example", {
    vehicle_of_interest: { vin: vins[0] },
    appointment: { appointment_type: "test_drive", appointment_at: noon.toISOString() },
    message: "Is it still there? I could come on Friday.\nMy own car would go, too.",
    trade_in: { year: 2019, make: "Honda", model: "Civic", mileage: 48000, condition: "good" },
  }),
  lead(EVIL.slice(0, 60), "Mallory", "mallory@buyer.example", {
    message: EVIL,
    source_agent: { name: EVIL.slice(0, 80) },
  }),
  lead("Grace", "Hopper", "grace@buyer.example", { vehicle_of_interest: { vin: vins[1] } }),
  lead("Katherine", "Johnson", "katherine@buyer.example", {
    appointment: { appointment_type: "service", appointment_at: noon.toISOString() },
    vehicle_of_interest: { vin: vins[2] },
  }),
];
const ids = [];
for (const payload of sent) {
  const answer = await call(payload);
  if (!answer.lead) console.log(JSON.stringify(answer.json).slice(0, 600));
  check("a lead is accepted", answer.lead !== undefined);
  ids.push(answer.lead);
}

// Refused requests, with an error id that a buyer may quote.
const noConsent = lead("Nobody", "Refused", "refused@buyer.example");
delete noConsent.consent;
const refusedAnswer = await call({ ...lead("Bad", "Address", "no-address"), [EVIL.slice(0, 60)]: 1 });
for (const payload of [
  noConsent,
  { type: "lead.transmogrify.request" },
  { type: "inventory.vehicle.request", vin: "1HGCM82633A004352" },
  { type: "inventory.vehicle.request", vin: "1HGCM82633A004352" },
  { type: "inventory.search.request", filters: { price: { max: "cheap" } } },
]) {
  check("an invalid request is refused", (await call(payload)).json.error !== undefined);
}
const errorId = JSON.stringify(refusedAnswer.json).match(/"error_id":"([^"]+)"/)?.[1];
check("a refusal has an id", errorId !== undefined, JSON.stringify(refusedAnswer.json));

// A sign-in provider. For browsers it is another site.
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const provider = createServer((request, response) => {
  const url = new URL(request.url, `http://localhost:${providerPort}`);
  const json = (value) => response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
  const issuer = `http://127.0.0.1:${providerPort}`;
  const base64 = (text) => Buffer.from(text).toString("base64url");
  if (url.pathname === "/authorize") {
    const back = new URL(url.searchParams.get("redirect_uri"));
    back.searchParams.set("code", url.searchParams.get("nonce"));
    back.searchParams.set("state", url.searchParams.get("state"));
    response.writeHead(302, { Location: back.href }).end();
  } else if (url.pathname === "/token") {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const claims = {
        iss: issuer, aud: "walk", sub: "grace", nonce: new URLSearchParams(body).get("code"),
        exp: Math.floor(Date.now() / 1000) + 300, groups: ["sales"],
      };
      const signed = `${base64('{"alg":"EdDSA","kid":"1"}')}.${base64(JSON.stringify(claims))}`;
      json({ id_token: `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}` });
    });
  } else if (url.pathname === "/keys") {
    json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "EdDSA" }] });
  } else {
    json({
      issuer, authorization_endpoint: `http://localhost:${providerPort}/authorize`,
      token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys`,
    });
  }
});
await new Promise((resolve) => provider.listen(Number(providerPort), resolve));

const secret = "correct horse battery";
const people = { desk: "dora", manager: "maria", engineer: "egon" };
for (const [role, name] of Object.entries(people)) {
  const of = ["--role", role, "--dealer", "larkspur", "--password-stdin", "--data", data];
  execFileSync(tradepost, ["console", "user", "add", name, ...of], { input: secret });
}

// The day of the appointments.
const day = noon.toISOString().slice(0, 10);

const PAGES = {
  inbox: "", leads: "/leads", lead: `/leads/${ids[0]}`, hostile: `/leads/${ids[1]}`, appointments: "/appointments",
  calendarDay: `/appointments?view=day&date=${day}`, calendarWeek: `/appointments?view=week&date=${day}`,
  calendarList: `/appointments?view=list&date=${day}`, help: "/help",
  inventory: "/inventory", search: "/inventory?q=blue+suv+under+30k", amiss: "/inventory?amiss=any",
  asked: "/inventory/ask?question=blue+suv+under+30k", week: "/week", quiet: "/week?week=2020-W10", feeds: "/feeds",
  taken: "/feeds/runs?dealer=larkspur&feed=nightly", held: "/feeds/runs?dealer=larkspur&feed=changes", buyers: "/buyers",
  refusals: "/refusals", refused: `/refusals?error_id=${errorId}`, unknown: "/refusals?error_id=err_0",
  probed: "/probe", card: "/card", checklist: "/checklist", people: "/people", audit: "/audit", erase: `/leads/${ids[0]}/erase`,
  account: "/account", factor: "/account/factor",
  nothing: "/leads?q=nobody-at-all",
};
const MAY = {
  desk: ["inbox", "leads", "lead", "hostile", "appointments", "calendarDay", "calendarWeek", "calendarList", "help", "inventory", "search", "amiss", "asked", "week", "quiet", "people",
    "nothing", "account", "factor"],
  manager: Object.keys(PAGES),
  engineer: ["inbox", "inventory", "search", "amiss", "asked", "week", "quiet", "feeds", "taken", "held", "buyers", "refusals", "refused",
    "unknown", "probed", "card", "checklist", "people", "account", "factor", "help"],
};

{
  const { context, page, said } = await open("wide");
  await page.goto(site);
  check("a visitor without a session has to sign in", page.url().includes("/sign-in"));
  await look(page, said, "sign-in", "sign-in");
  await page.getByLabel("Name").fill("dora");
  await page.getByLabel("Password").fill("wrong wrong wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  check("a wrong password is reported", await page.getByRole("alert").isVisible());
  said.splice(0);
  await look(page, said, "sign-in refused", "sign-in-refused");
  await signIn(page, "demo", password);
  check("the demo's user can sign in", (await page.title()).startsWith("Inbox"));
  await context.close();
}

// The prober runs before the pages with its report are opened.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.engineer, secret);
  await page.goto(`${site}/checklist`);
  await page.getByRole("link", { name: "prober" }).click();
  await look(page, said, "no run yet", "probe-before");
  await page.getByRole("button", { name: "Probe now" }).click();
  check("the page says that the prober has started", await page.getByRole("status").isVisible());
  await page.getByRole("heading", { name: "Running" }).waitFor();
  // A busy machine needs more than the usual half minute for the first check, and a fast one may be done with all.
  await page.getByText(/[1-9]\d* of \d+ checks done/).or(page.getByRole("heading", { name: /^Grade/ })).waitFor({ timeout: 300_000 });
  await look(page, said, "the prober is running", "probe-at-work");
  await page.getByRole("heading", { name: /^Grade/ }).waitFor({ timeout: 300_000 });
  check("the demo's agent conforms to the specifications", await page.getByRole("heading", { name: "Grade A" }).isVisible());
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: /the whole report/ }).click(),
  ]);
  check("the report is downloaded", download.suggestedFilename() === "probe.html");
  await page.goto(`${site}/refusals`);
  await page.getByRole("searchbox").fill(errorId);
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("heading", { name: "INVALID_CONSENT" }).or(page.getByRole("heading", { name: "SCHEMA_VALIDATION_FAILED" })).waitFor();
  check("the page shows the wrong field of the request", await page.getByText("/customer/email").isVisible());
  check("the page shows no text of the caller", !(await page.content()).includes("onerror"));
  await context.close();
}

// Sign-in with the provider, which is another site.
{
  const context = await browser.newContext(SCREENS.wide);
  const page = await context.newPage();
  await page.goto(`${site}/leads`);
  await page.getByRole("link", { name: "Sign in with Walkers" }).click();
  await page.waitForURL(`${site}/leads`);
  check("a person whom the provider confirms is signed in", await page.getByRole("banner").getByText("oidc:grace").isVisible());
  check("with the role of their groups", (await page.goto(`${site}/audit`)).status() === 403);
  await context.close();
  provider.close();
}

for (const [role, name] of Object.entries(people)) {
  for (const screen of Object.keys(SCREENS)) {
    // A role looks the same in the dark.
    if (role !== "manager" && screen === "dark") continue;
    const { context, page, said, elsewhere } = await open(screen);
    await signIn(page, name, secret);
    for (const [what, path] of Object.entries(PAGES)) {
      const answer = await page.goto(`${site}${path}`);
      const may = MAY[role].includes(what);
      check(`${role} ${may ? "may see" : "may not see"} ${what}`, answer.status() === (may ? 200 : 403), `${answer.status()}`);
      if (!may) said.splice(0);
      if (may) await look(page, said, `${what} as ${role} (${screen})`, `${what}-${role}-${screen}`);
    }
    const wrong = elsewhere.filter((url) => !url.startsWith("https://photos.larkspur-motors.example/"));
    check(`no request to another site (${role}, ${screen})`, wrong.length === 0, wrong.join(" "));
    await context.close();
  }
}

check("some tables are wider than a phone", results.tablesThatScroll > 0);

// Badges and the edges of boxes at the widths of desks and tablets.
let badgesSeen = 0;
for (const width of DESKS) {
  const { context, page } = await open("wide");
  await page.setViewportSize({ width, height: 860 });
  await signIn(page, people.manager, secret);
  for (const [what, path] of Object.entries(PAGES)) {
    await page.goto(`${site}${path}`);
    const { badges, found } = await page.evaluate(covered);
    badgesSeen += badges;
    check(`no badge lies over a text: ${what} at ${width} pixels`, found.length === 0, found.join("; "));
    const out = await page.evaluate(sticksOut);
    check(`nothing sticks out of its box: ${what} at ${width} pixels`, out.length === 0, out.join("; "));
    await photograph(page, `${what}-manager-${width}`);
  }
  await context.close();
}
check("the pages have badges", badgesSeen > DESKS.length);

// Returns the address of the week of an appointment, at the rooftop that its lead is for.
async function weekOf(page, id) {
  await page.goto(`${site}/leads/${id}`);
  const fact = page.locator(".facts > div").filter({ has: page.getByText("Rooftop", { exact: true }) });
  const rooftop = encodeURIComponent(await fact.first().locator("dd").textContent());
  return `${site}/appointments?view=week&date=${day}&rooftop=${rooftop}&department=sales`;
}

// Returns the appointment of a lead in the table, and its slot.
const inTable = (page, id) => page.locator(`[data-grid] a.visit[href$="${id}"]`);
const slotOf = (page, id) => inTable(page, id).evaluate((it) => it.closest("td").dataset.at);
const told = (page) => page.locator("[data-told]").textContent();

// Drags the appointment of a lead to a free time in its row of the table.
async function drag(page, id) {
  const before = await slotOf(page, id);
  await inTable(page, id).scrollIntoViewIfNeeded();
  const source = await inTable(page, id).boundingBox();
  const row = page.locator("[data-grid] tr").filter({ has: page.locator(`a.visit[href$="${id}"]`) });
  const free = row.locator("td.free[data-at]").first();
  const target = await free.boundingBox();
  const named = await free.getAttribute("data-name");
  await page.mouse.move(source.x + 20, source.y + 8);
  await page.mouse.down();
  await page.mouse.move(source.x + 40, source.y + 20, { steps: 4 });
  await page.mouse.move(target.x + target.width / 2, target.y + target.height / 2, { steps: 8 });
  check("dragging says where", (await told(page)).includes(named), named);
  await page.mouse.up();
  await page.getByText("The appointment is moved.").waitFor();
  check("an appointment is dragged to a free time", (await slotOf(page, id)) !== before);
}

// Picks the appointment of a lead up with the keyboard and chooses a slot below.
async function pickUp(page, id, slots) {
  await inTable(page, id).focus();
  await page.keyboard.press("m");
  check("picking up is announced", (await told(page)).includes("is picked up"));
  for (let i = 0; i < slots; i += 1) await page.keyboard.press("ArrowDown");
}

// Moves the appointment of a lead with the form below the calendar, by an hour.
async function moveByForm(page, id) {
  const item = page.locator("li[id^=appt-]").filter({ has: page.locator(`a[href$="${id}"]`) });
  const before = await item.locator("time").getAttribute("datetime");
  await item.getByText("Move…").click();
  const field = item.getByLabel(/New time/);
  const later = new Date(`${await field.inputValue()}:00Z`);
  later.setUTCHours(later.getUTCHours() + 1);
  await field.fill(later.toISOString().slice(0, 16));
  await item.getByRole("button", { name: "Move" }).click();
  await page.getByText("The appointment is moved.").waitFor();
  check("an appointment is moved by the form", (await item.locator("time").getAttribute("datetime")) !== before);
}

// The keys of the calendar, and those of every page.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.desk, secret);
  await page.goto(await weekOf(page, ids[0]));
  const before = await slotOf(page, ids[0]);
  await pickUp(page, ids[0], 1);
  await page.keyboard.press("Escape");
  check("Escape leaves it", (await told(page)) === "Not moved." && (await slotOf(page, ids[0])) === before);
  await pickUp(page, ids[0], 2);
  await look(page, said, "calendar while moving", "calendar-moving");
  await page.keyboard.press("Escape");

  await page.keyboard.press("?");
  check("? shows the keys", await page.getByRole("dialog").isVisible());
  await look(page, said, "the keys", "keys");
  await page.keyboard.press("Escape");
  await page.goto(`${site}/leads`);
  await page.keyboard.press("/");
  check("/ leads to the search", await page.locator("[data-search]").evaluate((it) => it === document.activeElement));
  await context.close();
}

// A lead from its arrival to the sale: it is assigned, its appointment is confirmed and moved, and the agent hears
// of both when it sends its lead again. Hundreds of others are closed at once.
const CLOSED = 500;
for (const [screen, agreed] of [["wide", "10:00"], ["phone", "11:00"]]) {
  const name = `Worked ${screen}`;
  const wish = lead("Worked", screen, `worked-${screen}@buyer.example`, {
    vehicle_of_interest: { vin: vins[0] },
    appointment: { appointment_type: "test_drive" },
  });
  const { lead: worked, receipt, context: conversation } = await call(wish);
  check(`without a time, staff have to find one (${screen})`, receipt.appointment.status === "requested");
  // Checks that the agent reads the time that the page shows.
  const hears = async (what, shown) => {
    const answer = await call(wish, conversation);
    const { status, confirmed_at: at } = answer.receipt?.appointment ?? {};
    const isTold = answer.lead === worked && status === "confirmed" && Date.parse(at) === Date.parse(shown);
    check(`the agent hears ${what} (${screen})`, isTold, `${JSON.stringify(answer.json)} instead of ${shown}`);
  };

  const { context, page, said } = await open(screen);
  await signIn(page, people.desk, secret);
  check(`a new lead is in the inbox (${screen})`, await page.getByText(name).first().isVisible());
  await page.goto(`${site}/leads/${worked}`);
  await page.getByLabel("Owner", { exact: true }).selectOption(people.desk);
  await page.getByRole("button", { name: "Assign" }).click();
  check(`a lead is assigned (${screen})`, await page.getByText(`${people.desk} has this lead.`).isVisible());

  const visit = page.getByRole("region", { name: "Appointment", exact: true });
  check(`an appointment waits for staff (${screen})`, await visit.locator(".chip").getByText("no agreed time yet").isVisible());
  await visit.getByText("Confirm…").click();
  await visit.getByLabel(/Agreed time/).fill(`${day}T${agreed}`);
  await visit.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("The appointment is confirmed.").waitFor();
  check(`an appointment is confirmed (${screen})`, await visit.locator(".chip").getByText("confirmed").isVisible());
  await look(page, said, `a confirmed appointment (${screen})`, `lead-confirmed-${screen}`);
  await hears("the agreed time", await visit.locator("time").getAttribute("datetime"));

  await page.goto(await weekOf(page, worked));
  if (screen === "phone") {
    check("a phone shows no table", !(await page.locator("[data-grid]").isVisible()));
    await moveByForm(page, worked);
  } else {
    await drag(page, worked);
    await look(page, said, "calendar after dragging", "calendar-dragged");
    await hears("where it was dragged", await inTable(page, worked).locator("time").getAttribute("datetime"));
    const dragged = await slotOf(page, worked);
    await pickUp(page, worked, 2);
    await page.keyboard.press("Enter");
    await page.getByText("The appointment is moved.").waitFor();
    check("an appointment is moved by keys", (await slotOf(page, worked)) !== dragged);
  }
  await page.goto(`${site}/leads/${worked}`);
  await hears("the new time", await visit.locator("time").getAttribute("datetime"));

  await page.getByRole("button", { name: "Sold", exact: true }).click();
  check(`a lead is marked sold (${screen})`, await page.locator(".head .chip").getByText("Sold").isVisible());
  await look(page, said, `a sold lead (${screen})`, `lead-sold-${screen}`);
  await page.goto(site);
  check(`a sold lead has left the inbox (${screen})`, (await page.getByText(name).count()) === 0);
  await context.close();
}
{
  for (let i = 0; i < CLOSED; i += 1) {
    const more = { source_agent: { name: "bulk-agent" } };
    const answer = await call(lead("Closed", `${i}`, `closed-${i}@buyer.example`, more));
    if (!answer.lead) check("a lead of many is accepted", false, JSON.stringify(answer.json));
  }
  const { context, page, said } = await open("phone");
  await signIn(page, people.manager, secret);
  await page.goto(`${site}/leads?agent=bulk-agent`);
  check("the leads of an agent are counted", await page.getByText(`${CLOSED} leads`).first().isVisible());
  await look(page, said, "many leads (phone)", "leads-many-phone");
  await page.locator("input[name=all]").check();
  await page.getByLabel("Stage", { exact: true }).last().selectOption("lost");
  await page.getByLabel("Reason, if lost").last().selectOption("no_answer");
  await page.getByRole("button", { name: "Set stage" }).click();
  check("hundreds of leads are closed at once", await page.getByText(`${CLOSED}`).first().isVisible());
  await page.goto(`${site}/leads?agent=bulk-agent&view=new`);
  check("none of them is left", (await page.locator(".leads li").count()) === 0);
  await context.close();
}

// A calendar feed.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.manager, secret);
  await page.goto(`${site}/appointments?view=week&date=${day}`);
  await page.getByText(/^Calendar feed of/).click();
  await page.getByRole("button", { name: "Create address" }).click();
  await look(page, said, "a new calendar feed", "calendar-feed");
  const answer = await fetch(await page.locator("code.secret").textContent());
  check("a calendar program reads the feed", answer.status === 200 && (await answer.text()).startsWith("BEGIN:VCALENDAR"));
  await page.getByRole("link", { name: "I have stored the address" }).click();
  check("the page leads back to the week", page.url().includes("view=week"));
  await context.close();
}

// A working day, with the keyboard where the console supports it.
{
  const { context, page, said } = await open("wide");
  await signIn(page, people.manager, secret);
  await page.keyboard.press("Tab");
  check("the first stop skips to the content", await page.getByText("Skip to the content").evaluate((it) => it === document.activeElement));
  await page.locator("[data-list] a").first().focus();
  await page.keyboard.press("ArrowDown");
  check("arrows move in a list", await page.locator("[data-list] a").nth(1).evaluate((it) => it === document.activeElement));
  // The inbox has a search of its own.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("lovelace");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=lovelace/);
  await page.getByRole("link", { name: /Ada Lovelace/ }).click();
  await page.waitForURL(/\/leads\/lead_/);
  await page.waitForLoadState();
  // The answer is held back, so that the page shows what it says meanwhile.
  let answer;
  const asked = new Promise((resolve) => (answer = resolve));
  await page.route("**/stage", (route) => asked.then(() => route.continue()));
  const { sending, again } = await page.evaluate(() => new Promise((resolve) => {
    const buttons = [...document.querySelectorAll(".stages button")];
    const note = document.querySelector("textarea");
    const state = () => buttons.map((button) => `${button.textContent} ${button.disabled}`).join(", ");
    // Both at once: while the form is being sent, nothing more is evaluated here.
    const shown = () => {
      const sending = state();
      // As when the browser shows a page again that it has kept.
      note.value = "typed before";
      window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
      resolve({ sending, again: `${state()}, ${note.value}` });
    };
    document.addEventListener("submit", () => setTimeout(shown));
    buttons.find((it) => it.value === "working").click();
  }));
  const expected = "New true, Saving… true, Sold true, Lost true";
  check("a form that is being sent says so, and cannot be sent again", sending === expected, sending);
  const kept = "New false, Working false, Sold false, Lost false, typed before";
  check("a page that is shown again can be sent again, with what was typed", again === kept, again);
  answer();
  await page.getByRole("status").waitFor();
  check("the result of the action is shown", await page.getByRole("status").isVisible());
  check("the stage is pressed", (await page.getByRole("button", { name: "Working" }).getAttribute("aria-pressed")) === "true");
  await page.getByLabel("Add a note for your colleagues").fill(`Called back. ${EVIL}`);
  await page.getByRole("button", { name: "Save note" }).click();
  check("a note is saved", await page.locator(".note").getByText("Called back.").isVisible());
  check("a phone that the consent does not cover is not shown", !(await page.content()).includes("4155551230"));
  await look(page, said, "a lead that is worked on", "worked-on");
  await page.getByRole("link", { name: "Erase…" }).click();
  await page.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Erase permanently" }).click();
  check("an erased lead shows no customer data", !(await page.content()).includes("Lovelace"));
  await look(page, said, "an erased lead", "erased");
  await page.goto(`${site}/audit`);
  check("the audit record names the person who erased", await page.getByRole("row", { name: /maria erased/ }).isVisible());
  await look(page, said, "audit after a day", "audit-after");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.goto(`${site}/leads`);
  check("after sign-out a page needs a sign-in", page.url().includes("/sign-in"));
  await context.close();
}

// Without script.
{
  const context = await browser.newContext({ ...SCREENS.wide, javaScriptEnabled: false });
  const page = await context.newPage();
  await signIn(page, people.desk, secret);
  await page.goto(`${site}/leads/${ids[2]}`);
  await page.getByRole("button", { name: "Sold" }).click();
  check("the console works without script", await page.getByRole("status").isVisible());
  await context.close();
}

await end();
