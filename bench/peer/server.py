"""A message-only agent on the official Python SDK of A2A: every message is answered with a message.

Listens on a free loopback port and says which.
"""

import asyncio
import socket

import uvicorn
from a2a.helpers.proto_helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Role
from starlette.applications import Starlette


class Agent(AgentExecutor):
    """Says one sentence."""

    async def execute(self, context, event_queue):
        """Answers a message."""
        answer = new_text_message(
            'Direct message response', context_id=context.context_id, role=Role.ROLE_AGENT
        )
        await event_queue.enqueue_event(answer)

    async def cancel(self, context, event_queue):
        """There is nothing to cancel."""


def main():
    """Serves."""
    listener = socket.create_server(('127.0.0.1', 0))
    url = 'http://127.0.0.1:%d' % listener.getsockname()[1]
    interface = AgentInterface(url=f'{url}/a2a', protocol_binding='JSONRPC', protocol_version='1.0')
    card = AgentCard(
        name='peer',
        description='Answers with a message.',
        version='1',
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
    )
    handler = DefaultRequestHandler(Agent(), InMemoryTaskStore(), card)
    app = Starlette(routes=create_jsonrpc_routes(handler, '/a2a'))
    config = uvicorn.Config(app, log_level='warning', access_log=False)
    print(f'listening on {url}', flush=True)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


main()
