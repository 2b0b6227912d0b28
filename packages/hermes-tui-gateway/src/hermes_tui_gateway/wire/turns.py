"""What drives a turn: `prompt.submit`, steering, interrupting, answers to questions."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Params, Result


class TextInput(msgspec.Struct, frozen=True, tag="text"):
    """A text part of a prompt."""

    text: str


class ImageUrl(msgspec.Struct, frozen=True):
    """The image itself, as a `data:image/...;base64,` URL. Links are refused: nothing here fetches them."""

    url: str
    detail: str = ""


class ImageInput(msgspec.Struct, frozen=True, tag="image_url"):
    """An image part of a prompt."""

    image_url: ImageUrl


PromptText = str | list[TextInput | ImageInput]


class SubmitParams(Params, frozen=True, kw_only=True):
    """`prompt.submit`. The rewind fields are checked one by one, in an order of their own, hence `Any`."""

    session_id: str = ""
    text: PromptText
    queued: bool = False
    truncate_before_row_id: Any = None
    truncate_before_user_ordinal: Any = None
    truncate_before_message_id: Any = None
    confirm_truncate: Any = None
    confirm_empty_truncate: Any = None


class SubmitResult(Result, frozen=True, kw_only=True):
    """`prompt.submit`. `command`: the text was an answer to an open question or a stop, `output` says what it did.

    `survivor_user_row_ids` come with a rewind: the new ids of the user rows that are left before the new one.
    """

    status: Literal["streaming", "queued", "steered", "command"]
    turn_id: Maybe[str] = UNSET
    user_row_id: Maybe[int] = UNSET
    survivor_user_row_ids: Maybe[list[int]] = UNSET
    output: Maybe[str] = UNSET


class SteerParams(Params, frozen=True, kw_only=True):
    """`session.steer`."""

    session_id: str = ""
    text: str = ""


class SteerResult(Result, frozen=True, kw_only=True):
    """`session.steer`: rejected when no turn runs."""

    status: Literal["queued", "rejected"]
    text: str


class InterruptResult(Result, frozen=True, kw_only=True):
    """`session.interrupt`. The status is the same when idle; `interrupted` says whether a turn was stopped."""

    status: Literal["interrupted"] = "interrupted"
    interrupted: bool


class ApprovalParams(Params, frozen=True, kw_only=True):
    """`approval.respond`: the question with `request_id`, else the oldest, else with `all` every one."""

    session_id: str = ""
    request_id: str = ""
    choice: str = "deny"
    all: bool = False


class ApprovalResult(Result, frozen=True, kw_only=True):
    """`approval.respond`: how many approvals this answered; 0 when none was open."""

    resolved: int
    status: Maybe[Literal["expired"]] = UNSET


class ClarifyParams(Params, frozen=True, kw_only=True):
    """`clarify.respond`. An empty answer means: go on without. `question_id` answers one of several."""

    request_id: str = ""
    answer: str = ""
    question_id: str = ""


class SudoParams(Params, frozen=True, kw_only=True):
    """`sudo.respond`. `repr` hides the password."""

    request_id: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"SudoParams(request_id={self.request_id!r})"


class SecretParams(Params, frozen=True, kw_only=True):
    """`secret.respond`. `repr` hides the value."""

    request_id: str = ""
    value: str = ""

    def __repr__(self) -> str:
        return f"SecretParams(request_id={self.request_id!r})"


class AnswerResult(Result, frozen=True, kw_only=True):
    """`*.respond`: `expired` when the question was not open any more. `remaining`: what is still to be answered."""

    status: Literal["ok", "expired"]
    remaining: Maybe[list[str]] = UNSET
