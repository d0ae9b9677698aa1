// Webhooks through the official JavaScript client of A2A, against
// the example `conformance push --push-allow-loopback` of crates/seller/server.
//
//   node push.js http://127.0.0.1:8080

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { StreamResponse } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';

import { check, close } from './checks.js';

const ROLE_USER = 1;
const COMPLETED = 3;
const INPUT_REQUIRED = 6;

const base = process.argv[2];
if (base === undefined) {
  console.error('usage: node push.js BASE_URL');
  process.exit(2);
}

/** A receiver of notifications on this machine, which reads them as the client does. */
const came = [];
let wake = () => {};
const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  const event = StreamResponse.fromJSON(JSON.parse(Buffer.concat(chunks).toString()));
  came.push({ headers: request.headers, event: event.payload });
  response.writeHead(204).end();
  wake();
});
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const url = `http://127.0.0.1:${receiver.address().port}/hook`;

/** The first notification that is as wanted, within 15 seconds. */
async function notified(wanted) {
  const end = Date.now() + 15_000;
  for (;;) {
    const found = came.find(wanted);
    if (found !== undefined) {
      return found;
    }
    assert.ok(Date.now() < end, `only ${came.length} notifications came`);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 1_000);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A message that the agent knows by the prefix of its id. */
const message = (prefix, { taskId = '', config = undefined } = {}) => ({
  tenant: '',
  message: {
    messageId: `${prefix}-${randomUUID()}`,
    contextId: '',
    taskId,
    role: ROLE_USER,
    parts: [
      {
        content: { $case: 'text', value: 'hello' },
        mediaType: 'text/plain',
        filename: '',
        metadata: undefined,
      },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: {
    acceptedOutputModes: ['text/plain'],
    taskPushNotificationConfig: config,
    returnImmediately: false,
  },
  metadata: undefined,
});

const hook = (taskId, id) => ({
  tenant: '',
  id,
  taskId,
  url,
  token: `token-${id}`,
  authentication: { scheme: 'Bearer', credentials: `secret-${id}` },
});

const card = await new DefaultAgentCardResolver().resolve(base);
const client = await new ClientFactory().createFromAgentCard(card);
const list = (taskId) =>
  client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 10, pageToken: '' });
let task;

await check('the card offers push notifications', async () => {
  assert.equal(card.capabilities.pushNotifications, true);
});
await check('create keeps a webhook, which is told of the task as it is', async () => {
  task = await client.sendMessage(message('tck-input-required'));
  const kept = await client.createTaskPushNotificationConfig(hook(task.id, 'one'));
  assert.deepEqual([kept.id, kept.taskId, kept.url], ['one', task.id, url]);
  const { event, headers } = await notified(({ event }) => event.value.id === task.id);
  assert.equal(event.value.status.state, INPUT_REQUIRED);
  assert.equal(headers['content-type'], 'application/a2a+json');
  assert.equal(headers.authorization, 'Bearer secret-one');
  assert.equal(headers['x-a2a-notification-token'], 'token-one');
});
await check('get and list show it', async () => {
  const kept = await client.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'one' });
  assert.deepEqual([kept.id, kept.url, kept.authentication.scheme], ['one', url, 'Bearer']);
  const { configs } = await list(task.id);
  assert.deepEqual(configs.map((config) => config.id), ['one']);
});
await check('the end of the task is told', async () => {
  await client.sendMessage(message('tck-complete-task', { taskId: task.id }));
  await notified(
    ({ event }) => event.value.taskId === task.id && event.value.status?.state === COMPLETED,
  );
});
await check('a webhook that comes with a message is told of its task', async () => {
  const sent = await client.sendMessage(message('tck-artifact-text', { config: hook('', 'two') }));
  const artifact = await notified(
    ({ event }) => event.$case === 'artifactUpdate' && event.value.taskId === sent.id,
  );
  assert.equal(artifact.headers.authorization, 'Bearer secret-two');
  const text = artifact.event.value.artifact.parts[0].content.value;
  assert.equal(text, 'Generated text content');
});
await check('delete removes it, and again', async () => {
  const named = { tenant: '', taskId: task.id, id: 'one' };
  await client.deleteTaskPushNotificationConfig(named);
  await client.deleteTaskPushNotificationConfig(named);
  assert.deepEqual((await list(task.id)).configs, []);
  await assert.rejects(client.getTaskPushNotificationConfig(named));
});
await check('an address inside the network is refused', async () => {
  const inside = { ...hook(task.id, 'three'), url: 'https://169.254.169.254/' };
  await assert.rejects(client.createTaskPushNotificationConfig(inside));
});

receiver.close();
receiver.closeAllConnections();
close();
