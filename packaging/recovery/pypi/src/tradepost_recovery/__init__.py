"""What failed in an agent's answer, and what to do about it: A2A, AAP and AdCP."""

from ._engine import InvalidInput, RecoveryEngine, advise
from ._types import (
    Advice,
    AskReason,
    Attempt,
    Binding,
    Budget,
    Challenge,
    Change,
    Failure,
    Input,
    Output,
    Problem,
    StopReason,
    TransportError,
    Tried,
    Wait,
)

__all__ = [
    "Advice",
    "AskReason",
    "Attempt",
    "Binding",
    "Budget",
    "Challenge",
    "Change",
    "Failure",
    "Input",
    "InvalidInput",
    "Output",
    "Problem",
    "RecoveryEngine",
    "StopReason",
    "TransportError",
    "Tried",
    "Wait",
    "advise",
]
