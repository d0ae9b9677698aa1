// Tasks through the official JavaScript client of A2A, against the example `conformance` of crates/seller/server.
//
//   node tasks.js http://127.0.0.1:8080
//
// Webhooks are tried in push.js.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';

import { check, close } from './checks.js';

const ROLE_USER = 1;
const COMPLETED = 3;
const CANCELED = 5;
const INPUT_REQUIRED = 6;

const base = process.argv[2];
if (base === undefined) {
  console.error('usage: node tasks.js BASE_URL');
  process.exit(2);
}

const run = randomUUID();

/** A message that the agent knows by the prefix of its id. */
const message = (prefix, { taskId = '', returnImmediately = false } = {}) => ({
  tenant: '',
  message: {
    messageId: `${prefix}-${randomUUID()}`,
    contextId: taskId === '' ? run : '',
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
    taskPushNotificationConfig: undefined,
    returnImmediately,
  },
  metadata: undefined,
});

async function all(stream) {
  const events = [];
  for await (const event of stream) {
    events.push(event.payload);
  }
  return events;
}

const card = await new DefaultAgentCardResolver().resolve(base);
const client = await new ClientFactory().createFromAgentCard(card);
const named = (id) => ({ tenant: '', id, metadata: undefined });
let paused;

await check('send waits for the task and gives it', async () => {
  const task = await client.sendMessage(message('tck-artifact-text'));
  assert.equal(task.status.state, COMPLETED);
  assert.equal(task.artifacts[0].parts[0].content.value, 'Generated text content');
});
await check('stream brings task, work, artifact and end in order', async () => {
  const events = await all(client.sendMessageStream(message('tck-stream-001')));
  const kinds = events.map((event) => event.$case);
  assert.deepEqual(kinds, ['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate']);
  assert.equal(events.at(-1).value.status.state, COMPLETED);
});
await check('get reads the task that waits for input', async () => {
  paused = await client.sendMessage(message('tck-input-required'));
  const task = await client.getTask({ tenant: '', id: paused.id });
  assert.equal(task.status.state, INPUT_REQUIRED);
  assert.equal(task.contextId, run);
});
await check('subscribe stays open until a follow-up ends the task', async () => {
  const stream = client.resubscribeTask(named(paused.id));
  const first = await stream.next();
  assert.equal(first.value.payload.value.status.state, INPUT_REQUIRED);
  const answer = await client.sendMessage(message('tck-complete-task', { taskId: paused.id }));
  assert.equal(answer.status.state, COMPLETED);
  const events = await all(stream);
  assert.equal(events.at(-1).value.status.state, COMPLETED);
});
await check('cancel ends a task at work', async () => {
  const task = await client.sendMessage(message('tck-long-running', { returnImmediately: true }));
  const canceled = await client.cancelTask(named(task.id));
  assert.equal(canceled.status.state, CANCELED);
});
await check('list finds the tasks of the conversation, newest first', async () => {
  const page = await client.listTasks({
    tenant: '',
    contextId: run,
    status: 0,
    pageSize: 2,
    pageToken: '',
    historyLength: 0,
    statusTimestampAfter: undefined,
    includeArtifacts: false,
  });
  assert.equal(page.tasks.length, 2);
  assert.equal(page.totalSize, 4);
  assert.equal(page.tasks[0].status.state, CANCELED);
  assert.notEqual(page.nextPageToken, '');
});

close();
