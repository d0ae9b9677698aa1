// The adapter `kevel` against Kevel's own OpenAPI (adzerk/adzerk-api-specification), served and judged by Prism.
//
//   node kevel.js DRIVE [SPECIFICATION [CLIENT]]
//
// DRIVE is the example of the crate, SPECIFICATION the folder `management` of a checkout of the document, and CLIENT a
// built checkout of Kevel's own JavaScript client (adzerk/adzerk-management-sdk-js), which then sends the same objects.
// Without SPECIFICATION the stand-in knows required members alone.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

import { check, close } from '../js/checks.js';
import { creative, Driver, lineItem, order } from './driver.js';
import { KevelStandIn, REQUIRED } from './kevel-stand-in.js';

const [program, specification, kevelClient] = process.argv.slice(2);
if (program === undefined) {
  console.error('usage: node kevel.js DRIVE [SPECIFICATION [CLIENT]]');
  process.exit(2);
}
const kevel = new KevelStandIn();
const url = await kevel.start(specification && resolve(specification));
kevel.lists.priority.push({ Id: 7, Name: 'Sponsorship' });
kevel.lists.adtypes.push({ Id: 4, Width: 728, Height: 90 }, { Id: 5, Width: 300, Height: 250 });
kevel.lists.site.push({ Id: 12, Title: 'Gazette' }, { Id: 13, Title: 'Gone', IsDeleted: true });
kevel.lists.zone.push({ Id: 34, SiteId: 12, Name: 'Front page' });

const options = { credential: 'the-key', advertiser: 3, priority: 7 };
const driver = new Driver(program, 'kevel', url, options);
const inventory = ['site/12/zone/34'];
const targeting = {
  geo_countries: ['US'],
  geo_regions: ['US-CA', 'US-NY'],
  geo_metros_exclude: [{ system: 'nielsen_dma', values: ['501'] }],
  frequency_cap: { max_impressions: 4, per: 'individuals', window: { interval: 1, unit: 'days' } },
};
const item = lineItem({ inventory, targeting });
const last = (method, path) => kevel.seen.findLast((one) => one.method === method && one.path === path);

await check('kevel: the connection is checked', async () => {
  assert.equal(await driver.ok('check'), 'priority Sponsorship');
});
await check('kevel: sites and zones are listed as products name them', async () => {
  const ids = (await driver.ok('inventory')).map(({ id, name }) => `${id} ${name}`);
  assert.deepEqual(ids, ['site/12 Gazette', 'site/12/zone/34 Front page']);
});
await check('kevel: every problem of every package is found at once', async () => {
  const { targeting: none, ...rest } = item;
  const line_items = [
    { ...rest, pricing: 'vcpm', targeting: { geo_postal_areas: [], geo_regions: ['CA-ON'], geo_countries: ['US'] } },
    { ...rest, package_id: 'pk_2', inventory: ['ad_unit/1'], targeting: { frequency_cap: { suppress_minutes: 5 } } },
  ];
  const problems = await driver.ok('validate', { order: order(), line_items });
  assert.deepEqual(problems.map(({ package_id, field }) => `${package_id} ${field}`), [
    'pk_1 pricing_option_id',
    'pk_1 targeting_overlay.geo_postal_areas',
    'pk_1 budget',
    'pk_1 targeting_overlay.geo_regions',
    'pk_2 targeting_overlay.frequency_cap',
    'pk_2 product_id',
  ]);
  assert.deepEqual(await driver.ok('validate', { order: order(), line_items: [item] }), []);
});
const made = await check('kevel: an order is a campaign that is not active, and is made once', async () => {
  const first = await driver.ok('create_order', { order: order() });
  assert.equal((await driver.ok('create_order', { order: order() })).id, first.id);
  assert.deepEqual([first.state, first.external_id], ['draft', 'mb_7f3a']);
  assert.deepEqual(last('POST', '/v1/campaign').body, { AdvertiserId: 3, Name: 'Acme, spring [mb_7f3a]', IsActive: false });
  assert.equal((await driver.ok('find_order', { id: 'mb_7f3a' })).id, first.id);
  assert.equal(await driver.ok('find_order', { id: 'mb_7f3' }), null);
  return first.id;
});
const flight = await check('kevel: a line item is a flight, and is made once', async () => {
  const first = await driver.ok('create_line_item', { order: made, line_item: item });
  assert.equal((await driver.ok('create_line_item', { order: made, line_item: item })).id, first.id);
  assert.deepEqual(last('POST', '/v1/flight').body, {
    Name: 'Acme, spring, preroll [mb_7f3a/pk_1]',
    StartDateISO: '2026-12-01T05:00:00Z',
    EndDateISO: '2026-12-31T05:00:00Z',
    PriorityId: 7,
    GoalType: 1,
    Impressions: 500007,
    IsActive: true,
    RateType: 2,
    Price: 35,
    CapType: 1,
    LifetimeCapAmount: 500007,
    LifetimeCapAmountDecimal: 500007,
    IsFreqCap: true,
    FreqCap: 4,
    FreqCapDuration: 1,
    FreqCapType: 2,
    CampaignId: Number(made),
    GeoTargeting: [
      { CountryCode: 'US', Region: 'CA', IsExclude: false },
      { CountryCode: 'US', Region: 'NY', IsExclude: false },
      { CountryCode: 'US', MetroCode: 501, IsExclude: true },
    ],
    SiteZoneTargeting: [{ SiteId: 12, ZoneId: 34, IsExcluded: false }],
  });
  const [listed] = await driver.ok('line_items', { order: made });
  assert.deepEqual([listed.id, listed.external_id], [first.id, 'mb_7f3a/pk_1']);
  return first.id;
});
const asset = await check('kevel: a creative has the type of its size, and is made once', async () => {
  const first = await driver.ok('create_creative', { creative: creative() });
  assert.equal((await driver.ok('create_creative', { creative: creative() })).id, first.id);
  assert.deepEqual(last('POST', '/v1/creative').body, {
    Title: 'Shoe [cr_1@1]',
    IsActive: true,
    ImageLink: 'https://assets.example/shoe.png',
    Url: 'https://acme.example/shoes',
    AdvertiserId: 3,
    AdTypeId: 5,
  });
  return first.id;
});
await check('kevel: what it cannot show is refused before anything is sent', async () => {
  const before = kevel.seen.length;
  const vast = creative({ content: { kind: 'vast', url: 'https://assets.example/vast.xml' } });
  await driver.fails('create_creative', { creative: vast }, { error: 'Refused', reason: 'Unsupported' });
  const clickless = creative({ click_url: null });
  await driver.fails('create_creative', { creative: clickless }, { error: 'Refused', reason: 'Invalid' });
  assert.equal(kevel.seen.length, before);
  const large = creative({ external_id: 'cr_2@1', size: { width: 1, height: 1 } });
  await driver.fails('create_creative', { creative: large }, { error: 'Refused', reason: 'Missing' });
});
await check('kevel: an association is an ad, is made once, and ends', async () => {
  const members = { order: made, line_item: flight, creative: asset };
  await driver.ok('associate_creative', members);
  await driver.ok('associate_creative', members);
  const ads = () => kevel.ads.filter((ad) => !ad.IsDeleted);
  assert.deepEqual(ads().map((ad) => [ad.FlightId, ad.Creative.Id, ad.IsActive]), [[Number(flight), Number(asset), true]]);
  await driver.ok('dissociate_creative', members);
  await driver.ok('dissociate_creative', members);
  assert.deepEqual(ads(), []);
  await driver.ok('associate_creative', members);
  assert.equal(ads().length, 1);
});
await check('kevel: an order is approved by its campaign, and paused and resumed by its flights', async () => {
  const states = [await driver.ok('order_state', { order: made })];
  for (const change of ['approve', 'approve', 'pause', 'pause', 'approve', 'resume']) {
    states.push(await driver.ok('change_order_state', { order: made, change }));
  }
  states.push(await driver.ok('order_state', { order: made }));
  // What was approved stays it: to approve it again does not resume it.
  assert.deepEqual(states, [
    'draft', 'delivering', 'delivering', 'paused', 'paused', 'paused', 'delivering', 'delivering',
  ]);
});
await check('kevel: what was made is shown with its dates and creatives', async () => {
  const [view] = await driver.ok('inspect', { order: made });
  assert.deepEqual(view, {
    object: { id: flight, external_id: 'mb_7f3a/pk_1', state: 'delivering' },
    start_time: '2026-12-01T05:00:00Z',
    end_time: '2026-12-31T05:00:00Z',
    budget: null,
    creatives: [asset],
  });
});
await check("kevel: an order of another advertiser's is found too", async () => {
  const { id } = await driver.ok('create_order', { order: order({ external_id: 'mb_other', advertiser: '88' }) });
  assert.equal((await driver.ok('find_order', { id: 'mb_other' })).id, id);
});
await check('kevel: a flight is paused without losing anything', async () => {
  const before = structuredClone(kevel.lists.flight[0]);
  const change = (name) => driver.ok('change_line_item_state', { order: made, line_item: flight, change: name });
  assert.equal(await change('pause'), 'paused');
  assert.deepEqual(kevel.lists.flight[0], { ...before, IsActive: false, IsArchived: false });
  assert.equal(await change('resume'), 'delivering');
});
await check('kevel: a changed line item gets its new targets before it loses the old ones', async () => {
  const before = kevel.seen.length;
  const changed = lineItem({
    inventory: ['site/12'],
    targeting: { geo_countries: ['US'], geo_regions: ['US-CA'] },
    budget: 100,
    goal: null,
  });
  await driver.ok('change_line_item', { order: made, id: flight, line_item: changed });
  const [now] = kevel.lists.flight;
  assert.deepEqual(now.GeoTargeting.map(({ Region }) => Region), ['CA']);
  assert.deepEqual(now.SiteZoneTargeting.map(({ SiteId, ZoneId }) => [SiteId, ZoneId]), [[12, undefined]]);
  // 100 buys 2857 impressions at 35 for a thousand, and the cap that was there is gone.
  const terms = [now.GoalType, now.Impressions, now.CapType, now.LifetimeCapAmountDecimal, now.FreqCap, now.IsFreqCap];
  assert.deepEqual(terms, [2, 100, 1, 2857, null, false]);
  const verbs = kevel.seen.slice(before).map(({ method, path }) => `${method} ${path.replaceAll(/\d+/g, 'N')}`);
  assert.deepEqual(verbs, [
    'GET /vN/flight/N',
    'GET /vN/flight/N/geotargeting/N/delete',
    'GET /vN/flight/N/geotargeting/N/delete',
    'POST /vN/flight/N/sitezonetargeting',
    'GET /vN/flight/N/sitezonetargeting/N/delete',
    'GET /vN/flight/N',
    'PUT /vN/flight/N',
  ]);
});
await check('kevel: a report is asked for once, and read when it is done', async () => {
  const members = { order: made, from: '2026-12-01', to: '2026-12-02' };
  await driver.fails('delivery', members, { error: 'NotYet', seconds: null });
  const day = (name) => ({
    line_item: flight,
    day: name,
    impressions: 2000,
    clicks: 6,
    completed_views: null,
    spend: 70,
    is_final: false,
  });
  assert.deepEqual(await driver.ok('delivery', members), [day('2026-12-01'), day('2026-12-02')]);
  assert.deepEqual(last('POST', '/v1/report/queue').body, {
    StartDateISO: '2026-12-01T00:00:00Z',
    EndDateISO: '2026-12-02T23:59:59Z',
    GroupBy: ['day', 'flightId'],
    Parameters: [{ campaignId: Number(made) }],
  });
  assert.equal(kevel.reports.length, 1);
});
await check('kevel: an order that was canceled is archived, and stays it', async () => {
  assert.equal(await driver.ok('change_order_state', { order: made, change: 'cancel' }), 'canceled');
  assert.equal(await driver.ok('change_order_state', { order: made, change: 'cancel' }), 'canceled');
  await driver.fails('change_order_state', { order: made, change: 'resume' }, { error: 'Refused', reason: 'Invalid' });
});
await check('kevel: a name of 300 characters is cut at 200 and keeps our id', async () => {
  const { id } = await driver.ok('create_order', { order: order({ external_id: 'mb_long', name: 'ß'.repeat(300) }) });
  const { Name: name } = kevel.lists.campaign.find((campaign) => campaign.Id === Number(id));
  assert.equal(name, `${'ß'.repeat(190)} [mb_long]`);
});
await check('kevel: a wrong key and a missing object are refusals', async () => {
  const wrong = new Driver(program, 'kevel', url, { ...options, credential: 'another-key' });
  await wrong.fails('check', {}, { error: 'Refused', reason: 'Credential' });
  wrong.close();
  await driver.fails('order_state', { order: '99999' }, { error: 'Refused', reason: 'Missing' });
  await driver.fails('put_deal', { deal: deal() }, { error: 'Refused', reason: 'Unsupported' });
});
const judge = specification === undefined ? 'the stand-in' : 'Prism';
await check(`kevel: ${judge} has accepted every request`, async () => {
  const refused = kevel.seen.filter(({ status }) => status >= 400);
  assert.deepEqual(refused, []);
  assert.ok(kevel.seen.length > 50, String(kevel.seen.length));
});
await check(`kevel: ${judge} refuses the same bodies without a required member`, async () => {
  const headers = { 'content-type': 'application/json', 'x-adzerk-apikey': 'the-key' };
  for (const [path, members] of Object.entries(REQUIRED)) {
    for (const member of members) {
      const { [member]: _, ...rest } = last('POST', path).body;
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(rest) });
      assert.equal(answer.status, 422, `${path} without ${member}`);
      kevel.seen.pop();
    }
  }
});

if (kevelClient !== undefined) {
  await check("kevel: Kevel's own client sends the same objects", async () => {
    const { buildClient, buildFullSpecificationList, fetchSpecifications } = createRequire(import.meta.url)(resolve(kevelClient));
    const documents = buildFullSpecificationList({ basePath: resolve(specification) });
    const specifications = await fetchSpecifications(documents);
    const client = await buildClient({ apiKey: 'the-key', specifications, host: '127.0.0.1', port: Number(new URL(url).port), protocol: 'http', logger: () => {} });
    const lower = (name) => {
      const words = name.replaceAll(/([A-Z])([A-Z]+)/g, (_, first, rest) => first + rest.toLowerCase());
      return words[0].toLowerCase() + words.slice(1);
    };
    const camel = (value) =>
      Array.isArray(value)
        ? value.map(camel)
        : value !== null && typeof value === 'object'
          ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [lower(name), camel(inner)]))
          : value;
    // Its newest version does not read bodies that the document puts together by `allOf`: new campaigns, flights, creatives
    // and ads.
    const sent = async (object, operation, method, path, parameters = {}) => {
      const { body } = last(method, path);
      const before = kevel.seen.length;
      await client.run(object, operation, { ...camel(body), ...parameters }).catch((error) => {
        throw new Error(`${object} ${operation}: ${JSON.stringify(error)}`);
      });
      const theirs = kevel.seen.slice(before).findLast((one) => one.method === method && one.path === path);
      // It leaves out what is null, by which we end a cap.
      const present = Object.entries(body).filter(([, value]) => value !== null);
      assert.deepEqual(theirs.body, Object.fromEntries(present), path);
    };
    const flightId = Number(flight);
    await sent('flight', 'update', 'PUT', `/v1/flight/${flightId}`, { id: flightId });
    await sent('queuedReport', 'create', 'POST', '/v1/report/queue');
  });
}

function deal() {
  return {
    external_id: 'mb_1/pk_1',
    name: 'Spring',
    inventory: [],
    price: 12.5,
    currency: 'EUR',
    auction_type: 3,
    seats: [],
    advertiser_domains: [],
    start_time: '2026-12-01T00:00:00Z',
    end_time: '2026-12-31T00:00:00Z',
  };
}

driver.close();
kevel.stop();
close();
