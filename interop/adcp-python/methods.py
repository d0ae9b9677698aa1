"""Every method of AdCP's own client for Python that is a task of AdCP, with the defaults that the client itself
puts into its requests: a default value asks for nothing, and may be refused by no seller.

Of the tasks that the seller has, each is sent as the shortest request that can be carried out; of those that it
has not, the defaults alone, and the answer says so.
"""

import inspect
import typing
import uuid
from datetime import datetime, timedelta, timezone

import adcp.client
from adcp import ADCPClient

from checks import expect, same

BRAND = {'domain': 'acmeoutdoor.example'}
ACCOUNT = {'brand': BRAND, 'operator': 'acmeoutdoor.example'}

# Methods that are no task of AdCP, or wait for what another method has begun.
OTHERS = {
    'execute_task', 'execute_task_legacy', 'refine_proposals_verified', 'wait_for_refinement_verified',
}


# What goes on in a sponsored conversation.
CONVERSATIONS = {'si_initiate_session', 'si_send_message', 'si_terminate_session'}


def key():
    return str(uuid.uuid4())


def keyed(**members):
    return {'idempotency_key': key(), **members}


def day(ahead):
    return (datetime.now(timezone.utc) + timedelta(days=ahead)).isoformat()


def purchase(**other):
    package = {'product_id': 'news_display', 'pricing_option_id': 'cpm_auction', 'budget': 2000.0, 'bid_price': 9.0}
    return keyed(
        account=ACCOUNT, brand=BRAND, packages=[package], start_time=day(2), end_time=day(20), **other
    )


class Methods:
    """The methods of one client, in an order in which each finds what it is about."""

    def __init__(self, client, version):
        self.client = client
        self.version = version
        self.agent_url = None
        self.media_buy_id = None
        self.session_id = None
        self.list_id = None
        self.signal = None

    def requests(self):
        """Each method, its request and the code with which it is answered, if it is refused. A request is a
        function where it needs what a method before it has found."""
        creative = {
            'creative_id': f'interop-{self.version}-{key()[:8]}',
            'name': 'Interop',
            'assets': {
                'image': {
                    'asset_type': 'image', 'url': 'https://acmeoutdoor.example/a.png', 'width': 300, 'height': 250,
                },
                'click_url': {'asset_type': 'url', 'url': 'https://acmeoutdoor.example/'},
            },
        }
        plan = {
            'plan_id': f'interop-{self.version}', 'brand': BRAND, 'objectives': 'to be seen',
            'budget': {'total': 100000, 'currency': 'USD', 'reallocation_unlimited': True},
            'flight': {'start': day(0), 'end': day(90)},
        }
        source = {'event_source_id': 'interop', 'name': 'Interop', 'event_types': ['purchase']}
        event = {'event_id': key(), 'event_type': 'purchase', 'event_time': day(0),
                 'custom_data': {'value': 5, 'currency': 'USD'}}
        audience = {'audience_id': 'interop', 'name': 'Interop', 'audience_type': 'crm', 'add': [
            {'external_id': 'one', 'hashed_email': 'a' * 64},
        ]}
        return [
            ('get_adcp_capabilities', {}, None),
            ('sync_accounts', keyed(accounts=[{**ACCOUNT, 'billing': 'operator'}]), None),
            ('list_accounts', {}, None),
            ('get_products', {'buying_mode': 'wholesale', 'account': ACCOUNT}, None),
            ('get_products_legacy', {'buying_mode': 'brief', 'brief': 'outdoor display', 'brand': BRAND}, None),
            ('list_creative_formats_legacy', {}, None),
            ('sync_creatives', keyed(account=ACCOUNT, creatives=[{**creative, 'format_kind': 'image'}]), None),
            ('sync_creatives_legacy', lambda: keyed(account=ACCOUNT, creatives=[{
                **creative, 'creative_id': f'{creative["creative_id"]}-2', 'format_id': self.format_id(),
            }]), None),
            # Of its own alone: the method takes no creative that is named by an older kind of format.
            ('list_creatives', {'filters': {'creative_ids': [creative['creative_id']]}}, None),
            ('list_creatives_legacy', {}, None),
            ('create_media_buy', purchase(), None),
            ('create_media_buy_legacy', purchase(), None),
            ('update_media_buy', lambda: keyed(
                account=ACCOUNT, media_buy_id=self.media_buy_id, paused=True), None),
            ('update_media_buy_legacy', lambda: keyed(
                account=ACCOUNT, media_buy_id=self.media_buy_id, paused=False), None),
            ('get_media_buys', {'account': ACCOUNT}, None),
            ('get_media_buys_legacy', {'account': ACCOUNT}, None),
            ('get_media_buy_delivery', {'account': ACCOUNT}, None),
            ('get_media_buy_delivery_legacy', {'account': ACCOUNT}, None),
            ('sync_audiences', keyed(account=ACCOUNT, audiences=[audience]), None),
            ('sync_event_sources', keyed(account=ACCOUNT, event_sources=[source]), None),
            ('log_event', keyed(account=ACCOUNT, event_source_id='interop', events=[event]), None),
            ('sync_governance', keyed(accounts=[{'account': {**ACCOUNT, 'sandbox': True}, 'governance_agents': [
                {'url': 'https://governance.example/', 'authentication': {
                    'schemes': ['Bearer'], 'credentials': 'g' * 32}},
            ]}]), None),
            ('sync_plans', keyed(plans=[plan]), None),
            ('check_governance', {'plan_id': plan['plan_id'], 'caller': 'https://acmeoutdoor.example',
                                  'tool': 'create_media_buy', 'target_agent': 'https://gazette.example',
                                  'payload': {'total_budget': {'amount': 100, 'currency': 'USD'}}}, None),
            ('report_plan_outcome', keyed(plan_id=plan['plan_id'], outcome='failed',
                                          governance_context='unknown', error={'code': 'X', 'message': 'x'}), None),
            ('get_plan_audit_logs', {'plan_ids': [plan['plan_id']]}, None),
            ('get_signals', {'signal_spec': 'outdoor'}, None),
            ('activate_signal', lambda: keyed(
                account=ACCOUNT, signal_agent_segment_id=self.signal['signal_agent_segment_id'],
                pricing_option_id=self.signal['pricing_options'][0]['pricing_option_id'],
                destinations=[{'type': 'agent', 'agent_url': self.signal['deployments'][0]['agent_url']}]), None),
            ('si_get_offering', {'offering_id': 'gazette_digital'}, None),
            ('si_initiate_session', keyed(
                intent='what does it cost', identity={'consent_granted': False}), None),
            ('si_send_message', lambda: keyed(session_id=self.session_id, message='and a year?'), None),
            ('si_terminate_session', lambda: {'session_id': self.session_id, 'reason': 'user_exit'}, None),
            ('create_property_list', keyed(account=ACCOUNT, name='Interop', base_properties=[
                {'selection_type': 'identifiers', 'identifiers': [{'type': 'domain', 'value': 'acmeoutdoor.example'}]},
            ]), None),
            ('get_property_list', lambda: {'account': ACCOUNT, 'list_id': self.list_id}, None),
            ('list_property_lists', {'account': ACCOUNT}, None),
            ('update_property_list', lambda: keyed(
                account=ACCOUNT, list_id=self.list_id, description='of an interop run'), None),
            ('delete_property_list', lambda: keyed(account=ACCOUNT, list_id=self.list_id), None),
            ('get_task_status', {'task_id': 'nobody'}, 'REFERENCE_NOT_FOUND'),
            ('list_tasks', {}, None),
            ('comply_test_controller', {'scenario': 'list_scenarios'}, None),
        ]

    def format_id(self):
        return {'agent_url': self.agent_url, 'id': 'display_300x250'}

    def learn(self, name, data):
        """Notes what later methods are about."""
        if name == 'list_creative_formats_legacy':
            formats = [one.format_id for one in data.formats]
            self.agent_url = str(next(one for one in formats if one.id == 'display_300x250').agent_url)
        elif name in ('create_media_buy', 'create_media_buy_legacy'):
            self.media_buy_id = data.media_buy_id
        elif name == 'si_initiate_session':
            self.session_id = data.session_id
        elif name == 'create_property_list':
            self.list_id = data.list.list_id
        elif name == 'get_signals':
            self.signal = next(
                one.model_dump(mode='json', exclude_none=True) for one in data.signals if one.pricing_options
            )

    async def send(self, name, members):
        method = getattr(self.client, name)
        return await method(request_of(name)(**members))

    async def carried_out(self, name, request, expected):
        members = request() if callable(request) else request
        result = await self.send(name, members)
        code = (result.adcp_error or {}).get('code') if not result.success else None
        expect(code == expected and result.success == (expected is None), f'{result.error} {result.adcp_error}')
        if result.success:
            self.learn(name, result.data)

    async def not_here(self, name):
        method = getattr(self.client, name)
        result = await method(request_of(name).model_construct())
        expect(not result.success, 'it was carried out')
        same((result.adcp_error or {}).get('code'), 'UNSUPPORTED_FEATURE')


def request_of(name):
    """The type of a method's request; none where it is no task."""
    method = getattr(ADCPClient, name)
    return typing.get_type_hints(method, vars(adcp.client)).get('request')


def tasks():
    """The methods that are tasks of AdCP."""
    methods = inspect.getmembers(ADCPClient, inspect.iscoroutinefunction)
    names = [name for name, _ in methods if not name.startswith('_') and name not in OTHERS]
    return [name for name in names if hasattr(request_of(name), 'model_construct')]


async def walk_methods(check, client, over, version):
    """Sends every method."""
    methods = Methods(client, version)
    known = methods.requests()
    for name, request, expected in known:
        # Over A2A this client takes a member `response` for an envelope, and reads nothing beside it (version 9.2.0,
        # protocols/a2a.py, `_extract_result_from_task`). The answers of conversations have a member of that name.
        if over.startswith('a2a') and name in CONVERSATIONS:
            continue
        said = f'is refused with {expected}' if expected else 'is carried out'
        await check(f'{over}: {name} {said}', methods.carried_out(name, request, expected))
    here = {name for name, _, _ in known}
    for name in tasks():
        if name not in here:
            await check(f'{over}: {name} is not here', methods.not_here(name))
