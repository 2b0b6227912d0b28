"""Commands: everything a client can ask of a live session, and the replies. Sent with `Session.dispatch`.

One file for each thing they are about; every command names the errors that it can end with.
"""

from __future__ import annotations

from hermes_core.commands.answers import AnswerApprovals, AnswerCommand, AnswerQuestion, AnswerReply
from hermes_core.commands.asks import Asks, Done
from hermes_core.commands.cut import Cut
from hermes_core.commands.history import (
    Branch,
    BranchReply,
    HistoryCommand,
    HistoryReply,
    Retry,
    Rewind,
    RewindReply,
    Undo,
)
from hermes_core.commands.permissions import (
    Grant,
    Grants,
    GrantsReply,
    PermissionCommand,
    PermissionReply,
    Revoke,
    RevokeReply,
)
from hermes_core.commands.settings import EditMode, SetEdits, SetModel, SettingsCommand, SetTitle
from hermes_core.commands.turn import (
    BusyMode,
    Interrupt,
    InterruptReply,
    Steer,
    SteerReply,
    Submit,
    SubmitReply,
    TurnCommand,
    TurnReply,
)

Command = TurnCommand | AnswerCommand | SettingsCommand | HistoryCommand | PermissionCommand
Reply = TurnReply | AnswerReply | HistoryReply | PermissionReply | Done

__all__ = [
    "AnswerApprovals",
    "AnswerCommand",
    "AnswerQuestion",
    "AnswerReply",
    "Asks",
    "Branch",
    "BranchReply",
    "BusyMode",
    "Command",
    "Cut",
    "Done",
    "EditMode",
    "Grant",
    "Grants",
    "GrantsReply",
    "HistoryCommand",
    "HistoryReply",
    "Interrupt",
    "InterruptReply",
    "PermissionCommand",
    "PermissionReply",
    "Reply",
    "Retry",
    "Revoke",
    "RevokeReply",
    "Rewind",
    "RewindReply",
    "SetEdits",
    "SetModel",
    "SetTitle",
    "SettingsCommand",
    "Steer",
    "SteerReply",
    "Submit",
    "SubmitReply",
    "TurnCommand",
    "TurnReply",
    "Undo",
]
