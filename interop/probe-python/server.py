"""A server made with the official Python SDK of A2A, as its documentation shows, for
`tradepost probe`. What it does is keyed on the prefixes of the official kit's messages.

    python server.py PORT          prints its address

The SDK's own behaviour is what is looked at: the agent itself does as little as can be.
"""

import asyncio
import sys
import uuid

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette

LONG = 4


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        prefix = context.message.message_id
        if prefix.startswith('tck-message-response'):
            message = Message(
                message_id=str(uuid.uuid4()),
                context_id=context.context_id,
                role=Role.ROLE_AGENT,
                parts=[Part(text='Direct message response')],
            )
            await event_queue.enqueue_event(message)
            return
        if context.current_task is None:
            task = Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
            task.status.timestamp.GetCurrentTime()
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if prefix.startswith('tck-task-failure'):
            raise RuntimeError('db password=hunter2')
        if prefix.startswith('tck-input-required'):
            await updater.requires_input()
            return
        await updater.start_work()
        if prefix.startswith('test-resubscribe-message-id'):
            await asyncio.sleep(LONG)
        if prefix.startswith('tck-artifact-data'):
            data = ParseDict({'key': 'value', 'count': 42}, Value())
            await updater.add_artifact([Part(data=data)], artifact_id='artifact-1')
        elif prefix.startswith('tck-artifact'):
            await updater.add_artifact(
                [Part(text='Generated text content')], artifact_id='artifact-1'
            )
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    port = int(sys.argv[1])
    url = f'http://127.0.0.1:{port}'
    card = AgentCard(
        name='Python SDK 1.3.0',
        description='A server made with a2a-sdk.',
        version='1.0.0',
        supported_interfaces=[
            AgentInterface(
                url=f'{url}/a2a', protocol_binding='JSONRPC', protocol_version='1.0'
            ),
            AgentInterface(
                url=f'{url}/rest', protocol_binding='HTTP+JSON', protocol_version='1.0'
            ),
        ],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=False,
            extensions=[AgentExtension(uri='urn:tradepost:interop', description='None')],
        ),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[
            AgentSkill(
                id='kit', name='Kit', description='Does what the kit asks for.', tags=['tck']
            )
        ],
    )
    handler = DefaultRequestHandler(
        agent_executor=Executor(), task_store=InMemoryTaskStore(), agent_card=card
    )
    app = Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, '/a2a'),
            *create_rest_routes(handler, path_prefix='/rest'),
        ]
    )
    print(f'listening on {url}', flush=True)
    uvicorn.run(app, host='127.0.0.1', port=port, log_level='warning')


main()
