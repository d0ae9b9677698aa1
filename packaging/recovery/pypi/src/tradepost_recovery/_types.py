"""Types of what the engine reads and writes."""

from typing import Any, Literal, NotRequired, TypedDict

Binding = Literal["jsonrpc", "http_json", "grpc", "mcp_tool", "task", "text"]
"""``jsonrpc`` is JSON-RPC 2.0 (A2A, AAP, AdCP over A2A, MCP with its envelope); ``mcp_tool`` and ``task`` are an MCP tool
result and an A2A task without their envelopes."""

TransportError = Literal["unreachable", "certificate", "proxy", "unanswered", "truncated"]
"""``unreachable``, ``certificate``, ``proxy``: nothing was sent. ``unanswered``: sent, or maybe sent, and no answer.
``truncated``: an answer that does not end."""

Change = Literal[
    "request",
    "strip",
    "search_again",
    "reread",
    "reconcile",
    "new_key",
    "drop_context",
    "token",
    "billing",
    "other_billing",
    "versions",
    "account",
]

AskReason = Literal[
    "terminal",
    "in_doubt",
    "unpromised",
    "credentials_missing",
    "credentials_rejected",
    "credential_in_arguments",
    "permission",
    "scope",
    "agent_gate",
    "seller_misconfigured",
    "seller_defect",
    "advisory",
    "throttled",
    "spent",
    "stopped",
    "billing",
    "setup",
    "agreement",
    "consent",
    "other_time",
    "in_flight",
    "done",
    "not_retryable",
    "unclear",
]

StopReason = Literal["address", "no_agent", "not_offered", "certificate", "proxy", "local", "final"]


class Tried(TypedDict, total=False):
    """Remedies that were tried for this intent."""

    retries: int
    credentials: bool
    context: bool
    card: bool
    billing: bool


class Attempt(TypedDict, total=False):
    """What is known of the request and of earlier ones of the same intent."""

    effect: Literal["read", "keyed", "unkeyed"]
    had_credentials: bool
    has_supply: bool
    had_context: bool
    has_card: bool
    seller: str
    tried: Tried


class Budget(TypedDict, total=False):
    """What is left. Absent members: 3 attempts, 300 seconds, 10 tokens."""

    attempts: int
    seconds: float
    tokens: int


class Input(TypedDict, total=False):
    """An answer as it came (``binding``), or why there is none (``transport_error``), and what is known of its request."""

    binding: Binding
    transport_error: TransportError
    request_id: str | int
    status: int
    headers: dict[str, str | list[str]]
    body: Any
    attempt: Attempt
    budget: Budget


class Challenge(TypedDict):
    """How the server wants its callers to authenticate."""

    scheme: str
    realm: NotRequired[str]
    scope: NotRequired[str]
    resource_metadata: NotRequired[str]
    error: NotRequired[str]
    error_description: NotRequired[str]


# `class` is no name that a class body can have.
Failure = TypedDict(
    "Failure",
    {
        "kind": Literal["unsent", "unanswered", "garbled", "refused"],
        "protocol": NotRequired[Literal["adcp", "aap", "a2a", "grpc", "http", "text"]],
        "code": NotRequired[str],
        "is_known": NotRequired[bool],
        "class": Literal["transient", "correctable", "terminal"],
        "in_doubt": bool,
        "retry_after_ms": NotRequired[int],
        "challenges": NotRequired[list[Challenge]],
        "message": NotRequired[str],
    },
)
"""What failed. ``class`` has AdCP's words for all protocols."""


class Wait(TypedDict):
    """Send at a random moment in this span, in milliseconds from now."""

    at_least: int
    at_most: int


class Advice(TypedDict):
    """What to do next. ``retry`` and ``fix`` have ``wait_ms``, ``fix`` has ``change``, ``ask`` and ``stop`` have ``reason``."""

    action: Literal["retry", "fix", "ask", "stop"]
    key: Literal["same", "fresh", "none"]
    first: NotRequired[Literal["supply_credential", "renew_credential", "read_card"]]
    change: NotRequired[Change]
    value: NotRequired[Any]
    fields: NotRequired[list[str]]
    suggestion: NotRequired[str]
    reason: NotRequired[AskReason | StopReason]
    address: NotRequired[str]
    wait_ms: NotRequired[Wait]
    text: str


class Output(TypedDict):
    """The failure and the advice."""

    failure: Failure | None
    advice: Advice | None


class Problem(TypedDict):
    """A problem of an input: a JSON Pointer, the JSON Schema keyword that it violates, and what to do."""

    pointer: str
    keyword: str
    message: str
