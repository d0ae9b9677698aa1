// A message-only agent on the official JavaScript SDK of A2A, set up as its own examples do: every
// message is answered with a message. Listens on a free loopback port and says which.

import { randomUUID } from 'node:crypto';

import { AgentCard } from '@a2a-js/sdk';
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import express from 'express';

const agent = {
  async execute(context, bus) {
    bus.publish({
      kind: 'message',
      data: {
        messageId: randomUUID(),
        contextId: context.contextId,
        taskId: '',
        role: 2,
        parts: [
          {
            content: { $case: 'text', value: 'Direct message response' },
            mediaType: '',
            filename: '',
            metadata: undefined,
          },
        ],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      },
    });
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = AgentCard.fromJSON({
    name: 'peer',
    description: 'Answers with a message.',
    version: '1',
    supportedInterfaces: [
      { url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
  const userBuilder = UserBuilder.noAuthentication;
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder }));
  console.log(`listening on ${url}`);
});
