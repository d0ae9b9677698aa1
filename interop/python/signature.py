"""Verifies the signature of a served agent card with the official Python client of A2A, and signs
the card with it for `tradepost card verify`.

    python signature.py http://127.0.0.1:8080 PUBLIC_JWK_FILE PRIVATE_PEM_FILE SIGNED_CARD_FILE
"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from a2a.utils.signing import (
    InvalidSignaturesError,
    create_agent_card_signer,
    create_signature_verifier,
)
from google.protobuf.json_format import MessageToDict
from jwt import PyJWK


async def fetch(base):
    async with httpx.AsyncClient() as client:
        return await A2ACardResolver(client, base).get_agent_card()


def main(base, jwk_file, pem_file, out_file):
    with open(jwk_file, encoding="utf-8") as file:
        jwk = json.load(file)
    verify = create_signature_verifier(lambda kid, jku: PyJWK(jwk), [jwk["alg"]])
    card = asyncio.run(fetch(base))
    passed = failed = 0

    def check(name, good):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'}  py  {name}")

    def is_valid():
        try:
            verify(card)
        except InvalidSignaturesError:
            return False
        return True

    check("the signature is valid", is_valid())
    name, card.name = card.name, card.name + "."
    check("a card that was changed is not", not is_valid())
    card.name = name

    # The other way round: the client rebuilds the card from its messages, and signs that.
    del card.signatures[:]
    with open(pem_file, encoding="utf-8") as file:
        header = {"alg": jwk["alg"], "kid": jwk["kid"], "typ": "JOSE"}
        create_agent_card_signer(file.read(), header)(card)
    with open(out_file, "w", encoding="utf-8") as file:
        json.dump(MessageToDict(card), file)
    check("the client has signed the card", is_valid())

    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
