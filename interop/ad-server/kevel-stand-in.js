// A stand-in for Kevel: Prism judges every request by Kevel's own OpenAPI, and what it accepts is kept here, because
// Prism answers from examples and keeps nothing. Without the document only required members are looked for.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const read = (path) => parse(readFileSync(path, 'utf8'));

/** Makes one document of Kevel's, which has one for each object. */
function merge(specification) {
  const folder = mkdtempSync(join(tmpdir(), 'kevel-'));
  cpSync(specification, folder, { recursive: true });
  const merged = {
    openapi: '3.0.1',
    info: { title: 'Kevel, management', version: '1.0' },
    servers: [{ url: 'https://api.adzerk.net' }],
    paths: {},
    components: read(join(folder, 'components/security-schemes.yaml')).components,
  };
  // The document of all objects is the older one, whose bodies are objects of any kind.
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'openapi-3.yaml');
  for (const name of names) {
    for (const [path, item] of Object.entries(read(join(folder, name)).paths ?? {})) {
      merged.paths[path] = { ...merged.paths[path], ...item };
    }
  }
  const file = join(folder, 'merged.yaml');
  writeFileSync(file, stringify(merged));
  return { folder, file };
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Lists with the path at which an object of each is made. */
const LISTS = { advertiser: [], campaign: [], flight: [], creative: [], priority: [], adtypes: [], site: [], zone: [] };

/** Required members of what is made. */
export const REQUIRED = {
  '/v1/campaign': ['AdvertiserId', 'Name'],
  '/v1/flight': ['Name', 'StartDateISO', 'CampaignId', 'PriorityId', 'GoalType', 'Impressions', 'IsActive'],
  '/v1/creative': ['AdvertiserId', 'AdTypeId', 'IsActive'],
  '/v1/report/queue': ['StartDateISO', 'EndDateISO', 'GroupBy', 'Parameters'],
};

export class KevelStandIn {
  /** What came, in order: `{method, path, body, status}`. */
  seen = [];

  lists = structuredClone(LISTS);

  ads = [];

  reports = [];

  lastId = 100;

  /** Starts it; `specification` is the folder of Kevel's document, if it is at hand. */
  async start(specification) {
    if (specification !== undefined) {
      await this.startPrism(specification);
    }
    this.server = http.createServer((request, response) => {
      this.answer(request).then(
        ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        (error) => response.writeHead(500).end(String(error)),
      );
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  async startPrism(specification) {
    const { folder, file } = merge(specification);
    this.folder = folder;
    this.prism = `http://127.0.0.1:${await freePort()}`;
    const program = createRequire(import.meta.url).resolve('@stoplight/prism-cli/dist/index.js');
    this.child = spawn(process.execPath, [program, 'mock', '-p', new URL(this.prism).port, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve, reject) => {
      this.child.stdout.on('data', (text) => String(text).includes('Prism is listening') && resolve());
      this.child.on('exit', () => reject(new Error('Prism has ended')));
    });
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
    if (this.child !== undefined) {
      this.child.removeAllListeners('exit');
      this.child.kill();
      rmSync(this.folder, { recursive: true });
    }
  }

  /** Gives the verdict on a request: a status, and a document of errors. */
  async judge(method, url, key, type, text) {
    if (this.prism === undefined) {
      const required = (method === 'POST' && REQUIRED[new URL(url, 'http://127.0.0.1').pathname]) || [];
      const body = text === '' ? {} : JSON.parse(text);
      const missing = required.filter((member) => body[member] === undefined);
      return { status: missing.length > 0 ? 422 : 200, verdict: JSON.stringify({ detail: missing.join(', ') }) };
    }
    const judged = await fetch(this.prism + url, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'x-adzerk-apikey': key }),
        ...(text === '' ? {} : { 'content-type': type }),
      },
      body: text === '' ? undefined : text,
    });
    return { status: judged.status, verdict: await judged.text() };
  }

  async answer(request) {
    const parts = [];
    for await (const part of request) {
      parts.push(part);
    }
    const text = Buffer.concat(parts).toString();
    const { method, url, headers } = request;
    const key = headers['x-adzerk-apikey'];
    const judged = await this.judge(method, url, key, headers['content-type'], text);
    const { pathname: path, searchParams } = new URL(url, 'http://127.0.0.1');
    const body = text === '' ? undefined : JSON.parse(text);
    this.seen.push({ method, path, body, ...judged });
    if (judged.status >= 400) {
      return { status: judged.status, body: JSON.parse(judged.verdict) };
    }
    if (key !== 'the-key') {
      return { status: 403, body: { Error: 'This API key is not valid' } };
    }
    return this.act(method, path.split('/').slice(2), searchParams, body);
  }

  act(method, path, query, body) {
    const [object, id, part, partId, verb] = path;
    const found = (value) => (value === undefined ? { status: 404, body: { Error: 'Not found' } } : { status: 200, body: value });
    if (object === 'report') {
      return this.report(method, partId === undefined ? part : partId, body);
    }
    if (id !== undefined && part !== undefined) {
      return found(this.actOnPart(method, object, Number(id), part, partId, verb, body));
    }
    const list = this.lists[object];
    const one = list.find((thing) => thing.Id === Number(id));
    if (method === 'POST') {
      const made = { ...this.complete(object, body), Id: (this.lastId += 1) };
      list.push(made);
      return found(made);
    }
    if (method === 'PUT') {
      return found(one === undefined ? undefined : Object.assign(one, body));
    }
    return found(id === undefined ? this.page(list, query) : one);
  }

  /** Adds what Kevel adds to a new object. */
  complete(object, body) {
    const numbered = (targets, name) => (targets ?? []).map((target) => ({ ...target, [name]: (this.lastId += 1) }));
    return object === 'flight'
      ? {
          ...body,
          GeoTargeting: numbered(body.GeoTargeting, 'LocationId'),
          SiteZoneTargeting: numbered(body.SiteZoneTargeting, 'Id'),
          Created: '2026-11-27T00:00:00Z',
          Version: 1,
        }
      : { ...body };
  }

  page(list, query) {
    const size = Number(query.get('pageSize') ?? 500);
    const page = Number(query.get('page') ?? 1);
    const advertiser = query.get('advertiserId');
    const all = list.filter((thing) => advertiser === null || thing.AdvertiserId === Number(advertiser));
    const items = all.slice((page - 1) * size, page * size);
    return { page, pageSize: size, totalPages: Math.ceil(all.length / size), totalItems: all.length, items };
  }

  actOnPart(method, object, id, part, partId, verb, body) {
    const everything = new URLSearchParams();
    if (part === 'flight') {
      return this.page(this.lists.flight.filter((flight) => flight.CampaignId === id), everything);
    }
    if (part === 'creatives' && object === 'advertiser') {
      return this.page(this.lists.creative.filter((creative) => creative.AdvertiserId === id), everything);
    }
    if (part === 'creatives') {
      return this.page(this.ads.filter((ad) => ad.FlightId === id && !ad.IsDeleted), everything);
    }
    if (part === 'creative' && verb === 'delete') {
      const ad = this.ads.find((one) => one.Id === Number(partId));
      ad.IsDeleted = true;
      return ad;
    }
    if (part === 'creative' && method === 'POST') {
      const ad = { ...body, CampaignId: 1, Id: (this.lastId += 1) };
      this.ads.push(ad);
      return ad;
    }
    const flight = this.lists.flight.find((one) => one.Id === id);
    const member = { geotargeting: 'GeoTargeting', sitezonetargeting: 'SiteZoneTargeting' }[part];
    const name = { geotargeting: 'LocationId', sitezonetargeting: 'Id' }[part];
    if (verb === 'delete') {
      flight[member] = flight[member].filter((target) => target[name] !== Number(partId));
      return {};
    }
    const target = { ...body, [name]: (this.lastId += 1) };
    flight[member].push(target);
    return target;
  }

  /** A report is done when it is looked at for the second time. */
  report(method, id, body) {
    if (method === 'POST') {
      const made = { Id: `report-${(this.lastId += 1)}`, looked: 0, asked: body };
      this.reports.push(made);
      return { status: 200, body: { Id: made.Id } };
    }
    const made = this.reports.find((one) => one.Id === id);
    made.looked += 1;
    if (made.looked < 2) {
      return { status: 200, body: { Id: id, Status: 1, Message: 'Running', Result: null } };
    }
    const [{ campaignId }] = made.asked.Parameters;
    const flights = this.lists.flight.filter((flight) => flight.CampaignId === campaignId);
    const row = (flight, rate) => ({
      Grouping: { OptionId: flight.Id, RateTypeId: rate },
      Title: flight.Name,
      Impressions: 1000,
      Clicks: 3,
      Revenue: 35.1,
      TrueRevenue: 35.00000000000000000001,
    });
    const Records = [made.asked.StartDateISO, made.asked.EndDateISO].map((date) => ({
      Date: `${date.slice(0, 10)}T00:00:00Z`,
      Impressions: 2000,
      // A flight whose rate changed has two rows for a day.
      Details: flights.flatMap((flight) => [row(flight, 2), row(flight, 3)]),
    }));
    return { status: 200, body: { Id: id, Status: 2, Result: { TotalImpressions: 0, Records } } };
  }
}
