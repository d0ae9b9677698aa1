"""Looks whether `tradepost probe` has spoken MCP with a seller: python3 spoken.py REPORT.json"""

import json
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    findings = json.load(file)['findings']
verdicts = {finding['check']: finding['verdict'] for finding in findings}
wanted = ['adcp.served', 'adcp.mcp.initialize', 'adcp.mcp.tools']
wrong = [f'{check}: {verdicts.get(check)}' for check in wanted if verdicts.get(check) != 'pass']
print('\n'.join(wrong))
sys.exit(1 if wrong else 0)
