"""The registry: every method there is, one row each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from hermes_tui_gateway import codes
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.methods import answers, commands, config, lifecycle, prompt, setup, views
from hermes_tui_gateway.wire import sessions as s
from hermes_tui_gateway.wire import settings as c
from hermes_tui_gateway.wire import turns as t
from hermes_tui_gateway.wire.shapes import Nothing, Params, Result, SessionParams

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)


class Method(Generic[P, R]):
    """One method: its name, what it takes, what it gives, and the function behind it.

    `concurrent` methods may take their time: later requests are served meanwhile. The others are answered in
    the order in which they came. `store_code` is the code for a failure of the store.
    """

    def __init__(
        self,
        name: str,
        params: type[P],
        result: type[R],
        handler: Callable[[Call, P], Awaitable[R]],
        *,
        concurrent: bool = False,
        store_code: int = codes.STORE_FAILED,
    ) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.handler = handler
        self.concurrent = concurrent
        self.store_code = store_code

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[P]:
        """Decodes the params; made with the first call."""
        return msgspec.json.Decoder(self.params)


def _table(rows: Iterable[Method[Any, Any]]) -> MappingProxyType[str, Method[Any, Any]]:
    table: dict[str, Method[Any, Any]] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"The method {row.name} stands in the registry twice.")
        table[row.name] = row
    return MappingProxyType(table)


METHODS = _table(
    (
        Method("session.create", s.CreateParams, s.CreateResult, lifecycle.create),
        Method("session.resume", s.ResumeParams, s.LiveSnapshot, lifecycle.resume),
        Method("session.activate", SessionParams, s.LiveSnapshot, lifecycle.activate),
        Method("session.close", SessionParams, s.CloseResult, lifecycle.close, concurrent=True),
        Method("session.list", s.ListParams, s.ListResult, views.stored, concurrent=True),
        Method(
            "session.active_list",
            s.ActiveListParams,
            s.ActiveListResult,
            views.live,
            store_code=codes.LIVE_LIST_FAILED,
        ),
        Method("session.most_recent", Nothing, s.MostRecentResult, views.most_recent, concurrent=True),
        Method("session.history", s.HistoryParams, s.HistoryResult, views.history),
        Method("session.usage", SessionParams, s.Tokens, views.usage),
        Method("session.status", SessionParams, s.StatusResult, views.status),
        Method("session.title", s.TitleParams, s.TitleResult, lifecycle.title, store_code=codes.TITLE_FAILED),
        Method("prompt.submit", t.SubmitParams, t.SubmitResult, prompt.submit, store_code=codes.SUBMIT_NOT_STORED),
        Method("session.steer", t.SteerParams, t.SteerResult, prompt.steer),
        Method("session.interrupt", SessionParams, t.InterruptResult, prompt.interrupt, concurrent=True),
        Method("approval.respond", t.ApprovalParams, t.ApprovalResult, answers.approval),
        Method("clarify.respond", t.ClarifyParams, t.AnswerResult, answers.clarify),
        Method("sudo.respond", t.SudoParams, t.AnswerResult, answers.sudo),
        Method("secret.respond", t.SecretParams, t.AnswerResult, answers.secret),
        Method("config.get", c.ConfigGetParams, c.ConfigGetResult, config.get),
        Method("config.set", c.ConfigSetParams, c.ConfigSetResult, config.set_),
        Method("commands.catalog", Nothing, c.CatalogResult, commands.catalog),
        Method("command.dispatch", c.DispatchParams, c.CommandResult, commands.dispatch),
        Method("slash.exec", c.SlashParams, c.CommandResult, commands.execute, concurrent=True),
        Method("complete.slash", c.CompleteSlashParams, c.CompletionResult, commands.complete),
        Method("setup.status", Nothing, c.SetupStatusResult, setup.status, concurrent=True),
        Method("terminal.resize", c.ResizeParams, c.ResizeResult, setup.resize),
        Method("input.detect_drop", c.DropParams, c.DropResult, setup.detect_drop),
    )
)
