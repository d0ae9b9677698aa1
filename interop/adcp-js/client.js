// AdCP's own client for JavaScript against the demo publisher: every method of it that the seller has, over MCP and
// over A2A, in each release that both speak.
//
//   node client.js BASE_URL [HARNESS]
//
// Without HARNESS it is the newest release on npm, which speaks 3.0; HARNESS is a built checkout of adcp-client
// (docs/conformance.md), whose client speaks 3.0, 3.1 and 3.2.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { check, close } from '../js/checks.js';

const [base, harness] = process.argv.slice(2);
if (base === undefined) {
  console.error('usage: node client.js BASE_URL [HARNESS]');
  process.exit(2);
}
const from = harness === undefined ? import.meta.url : join(resolve(harness), 'package.json');
const load = createRequire(from);
const { AgentClient } = load(harness === undefined ? '@adcp/sdk' : './dist/lib/index.js');
const versions = harness === undefined ? [undefined] : ['3.0', '3.1', '3.2.0-beta.5'];

/** A credential of the demo, which is no secret. */
const token = 'demo-acme-outdoor-v1';
const brand = { domain: 'acmeoutdoor.example' };
const account = { brand, operator: 'acmeoutdoor.example' };
const day = (ahead) => new Date(Date.now() + ahead * 86_400_000).toISOString();
const keyed = (members) => ({ idempotency_key: randomUUID(), ...members });

/** What methods have found for those behind them. */
class Found {
  mediaBuyId;
  sessionId;
  listId;
  signal;
  formatId;
}

const purchase = () => keyed({
  account, brand, start_time: day(2), end_time: day(20),
  packages: [{ product_id: 'news_display', pricing_option_id: 'cpm_auction', budget: 2000, bid_price: 9 }],
});

/** A creative by its kind of format, or by the seller's own format where a release knows no kinds. */
const creative = (found, version) => ({
  creative_id: `interop-${randomUUID().slice(0, 8)}`, name: 'Interop',
  ...(version?.startsWith('3.2') ? { format_kind: 'image' } : { format_id: found.formatId }),
  assets: {
    image: { asset_type: 'image', url: 'https://acmeoutdoor.example/a.png', width: 300, height: 250 },
    click_url: { asset_type: 'url', url_type: 'clickthrough', url: 'https://acmeoutdoor.example/' },
  },
});

/** Each task, the method for it, its request, and what is learned of its answer. */
const tasks = [
  { task: 'get_adcp_capabilities', method: 'getAdcpCapabilities', request: () => ({}) },
  {
    task: 'sync_accounts', method: 'syncAccounts',
    request: () => keyed({ accounts: [{ ...account, billing: 'operator' }] }),
  },
  { task: 'list_accounts', method: 'listAccounts', request: () => ({}) },
  { task: 'get_products', method: 'getProducts', request: () => ({ buying_mode: 'wholesale', account }) },
  {
    task: 'list_creative_formats', method: 'listCreativeFormats', request: () => ({}),
    learn: (found, data) => {
      found.formatId = data.formats.find((one) => one.format_id.id === 'display_300x250').format_id;
    },
  },
  {
    task: 'sync_creatives', method: 'syncCreatives',
    request: (found, version) => keyed({ account, creatives: [creative(found, version)] }),
  },
  { task: 'list_creatives', method: 'listCreatives', request: () => ({}) },
  {
    task: 'create_media_buy', method: 'createMediaBuy', request: purchase,
    learn: (found, data) => {
      found.mediaBuyId = data.media_buy_id;
    },
  },
  {
    task: 'update_media_buy', method: 'updateMediaBuy',
    request: (found) => keyed({ account, media_buy_id: found.mediaBuyId, paused: true }),
  },
  { task: 'get_media_buys', method: 'getMediaBuys', request: () => ({ account }) },
  { task: 'get_media_buy_delivery', method: 'getMediaBuyDelivery', request: () => ({ account }) },
  {
    task: 'sync_audiences', method: 'syncAudiences',
    request: () => keyed({ account, audiences: [{ audience_id: 'interop', name: 'Interop', audience_type: 'crm',
      add: [{ external_id: 'one', hashed_email: 'a'.repeat(64) }] }] }),
  },
  {
    task: 'get_signals', method: 'getSignals', request: () => ({ signal_spec: 'outdoor' }),
    learn: (found, data) => {
      found.signal = data.signals.find((one) => one.pricing_options?.length > 0);
    },
  },
  {
    task: 'activate_signal', method: 'activateSignal',
    request: ({ signal }) => keyed({ account, signal_agent_segment_id: signal.signal_agent_segment_id,
      pricing_option_id: signal.pricing_options[0].pricing_option_id,
      destinations: [{ type: 'agent', agent_url: signal.deployments[0].agent_url }] }),
  },
  { task: 'si_get_offering', method: 'siGetOffering', request: () => ({ offering_id: 'gazette_digital' }) },
  {
    task: 'si_initiate_session', method: 'siInitiateSession',
    request: () => keyed({ intent: 'what does it cost', identity: { consent_granted: false } }),
    learn: (found, data) => {
      found.sessionId = data.session_id;
    },
  },
  {
    task: 'si_send_message', method: 'siSendMessage',
    request: (found) => keyed({ session_id: found.sessionId, message: 'and a year?' }),
  },
  {
    task: 'si_terminate_session', method: 'siTerminateSession',
    request: (found) => keyed({ session_id: found.sessionId, reason: 'user_exit' }),
  },
  {
    task: 'create_property_list', method: 'createPropertyList',
    request: () => keyed({ account, name: 'Interop', base_properties: [{ selection_type: 'identifiers',
      identifiers: [{ type: 'domain', value: 'acmeoutdoor.example' }] }] }),
    learn: (found, data) => {
      found.listId = data.list.list_id;
    },
  },
  {
    task: 'get_property_list', method: 'getPropertyList',
    request: (found) => ({ account, list_id: found.listId }),
  },
  { task: 'list_property_lists', method: 'listPropertyLists', request: () => ({ account }) },
  {
    task: 'update_property_list', method: 'updatePropertyList',
    request: (found) => keyed({ account, list_id: found.listId, description: 'of an interop run' }),
  },
  {
    task: 'delete_property_list', method: 'deletePropertyList',
    request: (found) => keyed({ account, list_id: found.listId }),
  },
];

/** What this client refuses by itself, whatever the seller would answer. */
function ownRefusal(protocol, version, method) {
  // It asks the seller's capabilities first, and no product is sold by audience.
  if (method === 'syncAudiences') return /does not support: audience_targeting/;
  // A list of tools has no release, and this one names format_kind for those of 3.1 and 3.2; pinned to 3.0 the client takes
  // that for a contradiction.
  if (method === 'syncCreatives' && protocol === 'mcp' && version === '3.0') return /disagree about canonical/;
  return undefined;
}

/** Whether this client loses half of the answer: over A2A it takes a member `response` for all of it
 *  (waivers-adcp-whole.txt, 7), and conversations are about that. */
const isLost = (protocol, method) => protocol === 'a2a' && /^si(Initiate|Send|Terminate)/.test(method);

/** Calls a method and learns of its answer. */
async function carryOut(client, row, found, version) {
  const call = client[row.method] ?? client[`${row.method}Legacy`];
  const result = await call.call(client, row.request(found, version));
  assert.ok(result.success, `${row.task}: ${result.error} ${JSON.stringify(result.adcpError ?? {})}`);
  row.learn?.(found, result.data);
}

// Its warnings about answers are about releases that it does not know.
console.warn = () => {};
for (const protocol of ['mcp', 'a2a']) {
  for (const version of versions) {
    const agent = {
      id: 'demo', name: 'demo', protocol, auth_token: token,
      agent_uri: protocol === 'mcp' ? `${base}/mcp` : `${base}/a2a`,
    };
    const client = new AgentClient(agent, version === undefined ? {} : { adcpVersion: version });
    const over = `${protocol} ${version ?? 'as it comes'}`;
    const found = new Found();
    for (const row of tasks.filter(({ method }) => !isLost(protocol, method))) {
      const refusal = ownRefusal(protocol, version, row.method);
      if (refusal === undefined) {
        await check(`${over}: ${row.method} is carried out`, () => carryOut(client, row, found, version));
      } else {
        await check(`${over}: ${row.method} is refused by the client itself`, () =>
          assert.rejects(carryOut(client, row, found, version), refusal));
      }
    }
  }
}
close();
