"""Tasks through the official Python client of A2A, against the example `conformance` of crates/seller/server.

    python tasks.py http://127.0.0.1:8080 [JSONRPC|GRPC]

Webhooks are tried in push.py.
"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import ContentTypeNotSupportedError, TaskNotFoundError
from a2a.utils.grpc_status import status_from_call
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo

from checks import Tally, same

RUN = str(uuid.uuid4())


def request(prefix, task_id='', return_immediately=False):
    """A message that the agent knows by the prefix of its id."""
    return SendMessageRequest(
        message=Message(
            message_id=f'{prefix}-{uuid.uuid4()}',
            context_id='' if task_id else RUN,
            task_id=task_id,
            role=Role.ROLE_USER,
            parts=[Part(text='hello')],
        ),
        configuration=SendMessageConfiguration(return_immediately=return_immediately),
    )


class Buyer:
    """One client that waits, and one that streams."""

    def __init__(self, plain, streaming):
        self.plain = plain
        self.streaming = streaming

    async def task(self, prefix, **how):
        events = [event async for event in self.plain.send_message(request(prefix, **how))]
        same(len(events), 1)
        return events[0].task

    async def send(self):
        task = await self.task('tck-artifact-text')
        same(task.status.state, TaskState.TASK_STATE_COMPLETED)
        same(task.artifacts[0].parts[0].text, 'Generated text content')

    async def stream(self):
        sent = self.streaming.send_message(request('tck-stream-001'))
        events = [event async for event in sent]
        kinds = [event.WhichOneof('payload') for event in events]
        same(kinds, ['task', 'status_update', 'artifact_update', 'status_update'])
        same(events[-1].status_update.status.state, TaskState.TASK_STATE_COMPLETED)

    async def get(self):
        paused = await self.task('tck-input-required')
        task = await self.plain.get_task(GetTaskRequest(id=paused.id))
        same(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
        same(task.context_id, RUN)

    async def subscribe(self):
        paused = await self.task('tck-input-required')
        events = self.streaming.subscribe(SubscribeToTaskRequest(id=paused.id))
        first = await anext(events)
        same(first.task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
        await self.task('tck-complete-task', task_id=paused.id)
        rest = [event async for event in events]
        same(rest[-1].status_update.status.state, TaskState.TASK_STATE_COMPLETED)

    async def cancel(self):
        task = await self.task('tck-long-running', return_immediately=True)
        canceled = await self.plain.cancel_task(CancelTaskRequest(id=task.id))
        same(canceled.status.state, TaskState.TASK_STATE_CANCELED)

    async def list(self):
        page = await self.plain.list_tasks(ListTasksRequest(context_id=RUN, page_size=2))
        same(len(page.tasks), 2)
        same(page.total_size, 5)
        same(page.tasks[0].status.state, TaskState.TASK_STATE_CANCELED)
        if not page.next_page_token:
            raise AssertionError('there is more, and no token for it')


    async def refusals(self):
        try:
            await self.plain.get_task(GetTaskRequest(id=str(uuid.uuid4())))
        except TaskNotFoundError:
            pass
        else:
            raise AssertionError('a task was found')
        strange = request('m')
        strange.message.parts[0].media_type = 'application/x-unheard-of'
        try:
            [event async for event in self.plain.send_message(strange)]
        except ContentTypeNotSupportedError:
            return
        raise AssertionError('it was read')


async def details(address):
    """What the client's own classes keep to themselves: the details of an error, by their types."""
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.unary_unary(
            '/lf.a2a.v1.A2AService/SendMessage',
            request_serializer=SendMessageRequest.SerializeToString,
            response_deserializer=lambda message: message,
        )
        wrong = SendMessageRequest(message=Message(parts=[Part(), Part(text='x')]))
        try:
            await call(wrong, metadata=[('a2a-version', '1.0')])
        except grpc.aio.AioRpcError as error:
            same(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
            status = status_from_call(error)
        info, bad = ErrorInfo(), BadRequest()
        same([status.details[0].Unpack(info), status.details[1].Unpack(bad)], [True, True])
        same((info.reason, info.domain), ('INVALID_PARAMS', 'a2a-protocol.org'))
        fields = sorted(violation.field for violation in bad.field_violations)
        same(fields, ['message.messageId', 'message.parts[0]', 'message.role'])
        # For clients that show nothing but the message.
        same([field for field in fields if field not in status.message], [])
        same(sorted(info.metadata['fields'].split(', ')), fields)


async def main(base, binding='JSONRPC'):
    tally = Tally()
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, base).get_agent_card()

        def client(**how):
            return ClientFactory(ClientConfig(
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[binding],
                **how,
            )).create(card)

        buyer = Buyer(client(streaming=False), client())
        await tally.check('send waits for the task and gives it', buyer.send())
        await tally.check('stream brings task, work, artifact and end in order', buyer.stream())
        await tally.check('get reads the task that waits for input', buyer.get())
        await tally.check('subscribe stays open until a follow-up', buyer.subscribe())
        await tally.check('cancel ends a task at work', buyer.cancel())
        await tally.check('list finds the tasks of the conversation', buyer.list())
        await tally.check('refusals are of their own classes', buyer.refusals())
        if binding == 'GRPC':
            address = next(
                i.url for i in card.supported_interfaces if i.protocol_binding == 'GRPC')
            await tally.check('an error has details of google.rpc types', details(address))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3):
        sys.exit('usage: python tasks.py BASE_URL [JSONRPC|GRPC]')
    sys.exit(asyncio.run(main(*sys.argv[1:])))
