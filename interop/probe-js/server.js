// A server made with the official JavaScript SDK of A2A, as its documentation shows, for
// `tradepost probe`. What it does is keyed on the prefixes of the official kit's messages.
//
//   node server.js          prints its address
//
// The SDK's own behaviour is what is looked at: the agent itself does as little as can be.

import express from 'express';
import { randomUUID } from 'node:crypto';

import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import {
  UserBuilder,
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
} from '@a2a-js/sdk/server/express';

const LONG = 4000;

class Executor {
  canceled = new Set();

  async execute(context, bus) {
    const { userMessage, taskId, contextId, task } = context;
    const prefix = userMessage.messageId;
    const is = (name) => prefix.startsWith(name);
    const base = { taskId, contextId, metadata: undefined };
    const at = () => ({ message: undefined, timestamp: new Date().toISOString() });
    if (is('tck-message-response')) {
      bus.publish(
        AgentEvent.message({
          messageId: randomUUID(),
          contextId,
          taskId: '',
          role: 2,
          parts: [part('Direct message response')],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        }),
      );
      bus.finished();
      return;
    }
    if (!task) {
      const status = { state: TaskState.TASK_STATE_SUBMITTED, ...at() };
      const history = [userMessage];
      bus.publish(
        AgentEvent.task({ id: taskId, contextId, status, history, artifacts: [], metadata: undefined }),
      );
    }
    const tell = (state) =>
      bus.publish(AgentEvent.statusUpdate({ ...base, status: { state, ...at() } }));
    if (is('tck-task-failure')) {
      throw new Error('db password=hunter2');
    }
    if (is('tck-input-required')) {
      tell(TaskState.TASK_STATE_INPUT_REQUIRED);
      bus.finished();
      return;
    }
    tell(TaskState.TASK_STATE_WORKING);
    if (is('test-resubscribe-message-id')) {
      for (let waited = 0; waited < LONG; waited += 100) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (this.canceled.has(taskId)) {
          tell(TaskState.TASK_STATE_CANCELED);
          bus.finished();
          return;
        }
      }
    }
    if (is('tck-artifact')) {
      const content = is('tck-artifact-data')
        ? { $case: 'data', value: { key: 'value', count: 42 } }
        : { $case: 'text', value: 'Generated text content' };
      const parts = [{ content, metadata: undefined, filename: '', mediaType: '' }];
      const artifact = {
        artifactId: 'artifact-1', name: '', description: '', parts, metadata: undefined, extensions: [],
      };
      bus.publish(AgentEvent.artifactUpdate({ ...base, artifact, append: false, lastChunk: true }));
    }
    tell(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  }

  cancelTask = async (taskId) => {
    this.canceled.add(taskId);
  };
}

const part = (value) => ({
  content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '',
});

const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const face = (path, protocolBinding) => ({
    url: `${url}${path}`, protocolBinding, protocolVersion: '1.0', tenant: '',
  });
  const extension = { uri: 'urn:tradepost:interop', description: '', required: false, params: undefined };
  const card = {
    name: 'JavaScript SDK 1.3.0',
    description: 'A server made with @a2a-js/sdk.',
    version: '1.0.0',
    supportedInterfaces: [face('/a2a', 'JSONRPC'), face('/rest', 'HTTP+JSON')],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [extension], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'kit', name: 'Kit', description: 'Does what the kit asks for.', tags: ['tck'],
        examples: [], inputModes: [], outputModes: [], securityRequirements: [],
      },
    ],
    signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor());
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', restHandler({ requestHandler, userBuilder }));
  console.log(`listening on ${url}`);
});
