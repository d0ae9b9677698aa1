"""Webhooks through the official Python client of A2A, against
the example `conformance push --push-allow-loopback` of crates/seller/server.

    python push.py http://127.0.0.1:8080
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf.json_format import Parse

from checks import Tally, same


class Receiver:
    """Takes notifications on this machine and reads them as the client does."""

    def __init__(self):
        self.came = []
        self.news = asyncio.Condition()

    async def serve(self, reader, writer):
        head = await reader.readuntil(b'\r\n\r\n')
        lines = head.decode().split('\r\n')[1:-2]
        headers = {k.lower(): v for k, v in (line.split(': ', 1) for line in lines)}
        body = await reader.readexactly(int(headers['content-length']))
        writer.write(b'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
        await writer.drain()
        writer.close()
        async with self.news:
            self.came.append((headers, Parse(body, StreamResponse())))
            self.news.notify_all()

    async def notified(self, wanted):
        """The first notification that is as wanted."""

        def find():
            return next((one for one in self.came if wanted(one[1])), None)

        async with self.news:
            async with asyncio.timeout(15):
                return await self.news.wait_for(find)


class Buyer:
    """A client with a webhook."""

    def __init__(self, client, receiver, url):
        self.client = client
        self.receiver = receiver
        self.url = url
        self.task_id = ''

    def hook(self, name, task_id='', url=None):
        return TaskPushNotificationConfig(
            id=name,
            task_id=task_id,
            url=url or self.url,
            token=f'token-{name}',
            authentication=AuthenticationInfo(scheme='Bearer', credentials=f'secret-{name}'),
        )

    async def task(self, prefix, task_id='', config=None):
        request = SendMessageRequest(
            message=Message(
                message_id=f'{prefix}-{uuid.uuid4()}',
                task_id=task_id,
                role=Role.ROLE_USER,
                parts=[Part(text='hello')],
            ),
            configuration=SendMessageConfiguration(task_push_notification_config=config),
        )
        events = [event async for event in self.client.send_message(request)]
        same(len(events), 1)
        return events[0].task

    async def create(self):
        self.task_id = (await self.task('tck-input-required')).id
        kept = await self.client.create_task_push_notification_config(
            self.hook('one', self.task_id)
        )
        same((kept.id, kept.task_id, kept.url), ('one', self.task_id, self.url))
        headers, event = await self.receiver.notified(lambda e: e.task.id == self.task_id)
        same(event.task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
        same(headers['content-type'], 'application/a2a+json')
        same(headers['authorization'], 'Bearer secret-one')
        same(headers['x-a2a-notification-token'], 'token-one')

    async def show(self):
        kept = await self.client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=self.task_id, id='one')
        )
        same((kept.id, kept.url, kept.authentication.scheme), ('one', self.url, 'Bearer'))
        same(await self.listed(), ['one'])

    async def listed(self):
        page = await self.client.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=self.task_id)
        )
        return [config.id for config in page.configs]

    async def end(self):
        await self.task('tck-complete-task', task_id=self.task_id)

        def is_end(event):
            update = event.status_update
            completed = TaskState.TASK_STATE_COMPLETED
            return update.task_id == self.task_id and update.status.state == completed

        await self.receiver.notified(is_end)

    async def inline(self):
        task = await self.task('tck-artifact-text', config=self.hook('two'))
        headers, event = await self.receiver.notified(
            lambda e: e.artifact_update.task_id == task.id
        )
        same(headers['authorization'], 'Bearer secret-two')
        same(event.artifact_update.artifact.parts[0].text, 'Generated text content')

    async def delete(self):
        named = DeleteTaskPushNotificationConfigRequest(task_id=self.task_id, id='one')
        await self.client.delete_task_push_notification_config(named)
        await self.client.delete_task_push_notification_config(named)
        same(await self.listed(), [])

    async def inside(self):
        inside = self.hook('three', self.task_id, 'https://169.254.169.254/')
        try:
            await self.client.create_task_push_notification_config(inside)
        except Exception as error:  # the client has a class of its own for each error
            if 'url' not in str(error):
                raise
        else:
            raise AssertionError('it was kept')


async def main(base):
    tally = Tally()
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, '127.0.0.1', 0)
    url = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook'
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        buyer = Buyer(client, receiver, url)
        await tally.check('create keeps a webhook, which is told of the task', buyer.create())
        await tally.check('get and list show it', buyer.show())
        await tally.check('the end of the task is told', buyer.end())
        await tally.check('a webhook that comes with a message is told', buyer.inline())
        await tally.check('delete removes it, and again', buyer.delete())
        await tally.check('an address inside the network is refused', buyer.inside())
    server.close()
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python push.py BASE_URL')
    sys.exit(asyncio.run(main(sys.argv[1])))
