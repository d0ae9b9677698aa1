"""Compares what `tradepost probe` found with what is known of the official SDKs' servers.

    python probe-compare.py js|python REPORT.json

The rows are those of the table in requirements a2a.md, section 3, that a client can see. Where a
row says otherwise for the version that is probed here, the reason stands beside it.
"""

import json
import sys

# What is looked at, the check, the interface, and what should come of it: Python, JavaScript.
ROWS = [
    ('echoes A2A-Extensions', 'a2a.extension.echo', 'JSONRPC', 'fail', 'fail'),
    ('?A2A-Version=1.0 honoured', 'a2a.version.query', 'JSONRPC', 'fail', 'fail'),
    ('version 1.0.3 = 1.0', 'a2a.version.patch', 'JSONRPC', 'pass', 'fail'),
    ('version 1.1 refused', 'a2a.version.later-minor', 'JSONRPC', 'fail', 'pass'),
    ('version enforced on REST', 'a2a.version.unsupported', 'HTTP+JSON', 'pass', 'pass'),
    ('absent version refused', 'a2a.version.absent', 'JSONRPC', 'pass', 'pass'),
    ('empty parts refused', 'a2a.input.parts-empty', 'JSONRPC', 'pass', 'fail'),
    ('empty part refused', 'a2a.input.part-empty', 'JSONRPC', 'fail', 'fail'),
    ('two-member part refused', 'a2a.input.part-twice', 'JSONRPC', 'pass', 'fail'),
    ('bad role refused', 'a2a.input.role-unknown', 'JSONRPC', 'pass', 'fail'),
    ('JSON-RPC batch', 'a2a.jsonrpc.batch', 'JSONRPC', 'pass', 'fail'),
    ('invalid Request object code', 'a2a.jsonrpc.method-missing', 'JSONRPC', 'pass', 'fail'),
    ('unknown REST route body', 'a2a.rest.unknown-route', 'HTTP+JSON', 'fail', 'fail'),
    ('REST bad JSON body', 'a2a.rest.parse-error', 'HTTP+JSON', 'pass', 'pass'),
    ('11 MB body', 'a2a.jsonrpc.size', 'JSONRPC', 'fail', 'fail'),
    ('text/plain body', 'a2a.jsonrpc.request-type', 'JSONRPC', 'fail', 'pass'),
    ('ListTasks newest first', 'a2a.list.newest-first', 'JSONRPC', 'pass', 'pass'),
    ('ListTasks hides artifacts', 'a2a.list.no-artifacts', 'JSONRPC', 'pass', 'pass'),
    ('statusTimestampAfter inclusive', 'a2a.list.since', 'JSONRPC', 'pass', 'fail'),
    ('bad pageSize refused', 'a2a.input.page-size-large', 'JSONRPC', 'pass', 'pass'),
    # The table says that JavaScript refuses a bad historyLength; the list operation takes it.
    ('bad historyLength refused', 'a2a.input.history-negative', 'JSONRPC', 'pass', 'fail'),
    ('unknown enum filter', 'a2a.input.status-unknown', 'JSONRPC', 'fail', 'pass'),
    # Neither card declares a tenant, so that nothing of them is promised.
    ('tenant REST route', 'a2a.rest.tenant', 'HTTP+JSON', 'not_applicable', 'not_applicable'),
    ('subscribe on INPUT_REQUIRED', 'a2a.kit.subscribe-waiting', 'JSONRPC', 'pass', 'pass'),
    ('third turn with taskId only', 'a2a.kit.third-turn', 'JSONRPC', 'fail', 'pass'),
    # -32002 and the canceled task are both permitted.
    ('repeated cancel', 'a2a.kit.cancel', 'JSONRPC', 'pass', 'pass'),
    ('handler fails: text shown', 'a2a.kit.failure', 'JSONRPC', 'fail', 'fail'),
    ('card If-None-Match -> 304', 'a2a.card.not-modified', 'card', 'pass', 'pass'),
    ('CORS on card', 'a2a.card.cors', 'card', 'pass', 'pass'),
    ('42 in a data part', 'a2a.kit.integers', 'JSONRPC', 'fail', 'pass'),
]


def main():
    column = {'python': 3, 'js': 4}[sys.argv[1]]
    with open(sys.argv[2], encoding='utf-8') as file:
        report = json.load(file)
    found = {(it['check'], it['on']): it for it in report['findings']}
    passed = failed = 0
    for row in ROWS:
        name, check, on, expected = row[0], row[1], row[2], row[column]
        finding = found.get((check, on), {'verdict': 'missing'})
        if finding['verdict'] == expected:
            passed += 1
            print(f'ok    {sys.argv[1]}  {name}: {expected}')
        else:
            failed += 1
            detail = finding.get('detail', '')
            print(f'FAIL  {sys.argv[1]}  {name}: {finding["verdict"]}, not {expected}: {detail}')
    if report['grade'] in ('A', 'B', None):
        failed += 1
        print(f'FAIL  {sys.argv[1]}  grade {report["grade"]} although MUSTs are broken')
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)


main()
