"""The questions of a session on the screen: one at a time, in order, each until it is answered or closed."""

from __future__ import annotations

from collections import deque
from typing import assert_never

from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Choice,
    Clarify,
    ClarifyAnswer,
    Question,
    Secret,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)

from hermes_cli.asking import chosen
from hermes_cli.chat.scene import OpenApproval
from hermes_cli.chat.screen import Screen
from hermes_cli.chat.scroll import Scroll

CLOSED_WORDS = {"expired": "Nobody answered in time: denied.", "withdrawn": "No longer asked."}


class Inquiry:
    """Keeps the questions that wait, shows the first one, and turns what is typed or chosen into its answer."""

    def __init__(self, screen: Screen, scroll: Scroll) -> None:
        self._screen = screen
        self._scroll = scroll
        self._waiting: deque[Question] = deque()
        self._shown: Question | None = None
        self._clarified: dict[str, str] = {}
        self.changes_shown: set[str] = set()
        """The tool calls whose edits were shown for approval."""

    @property
    def current(self) -> Question | None:
        """The question on the screen."""
        return self._shown

    def add(self, question: Question) -> None:
        """Show a question, at once or after those before it."""
        self._waiting.append(question)
        self._next()

    def closed(self, request_id: str, reason: str, choice: Choice | None) -> None:
        """Take a question away: somebody answered it, its time is over, or its turn has ended."""
        for question in list(self._waiting):
            if question.id == request_id:
                self._waiting.remove(question)
        if self._shown is None or self._shown.id != request_id:
            return
        if reason in CLOSED_WORDS:
            self._scroll.approved(CLOSED_WORDS[reason])
        elif choice is not None:
            self._scroll.approved({"deny": "Denied."}.get(choice, f"Allowed: {_words(choice)}."))
        self._clear()
        self._next()

    def drop(self) -> None:
        """Forget every question: the session is left."""
        self._waiting.clear()
        self._clear()

    def typed(self, line: str) -> Answer | None:
        """Take a line for the question on the screen; return the answer once it is complete."""
        question = self._shown
        match question:
            case Clarify():
                item = question.items[len(self._clarified)]
                self._clarified[item.id] = chosen(item, line)
                if line.strip():
                    self._scroll.approved(f"→ {self._clarified[item.id]}")
                if len(self._clarified) < len(question.items):
                    self._show_item(question)
                    return None
                return ClarifyAnswer(dict(self._clarified))
            case Sudo():
                return SudoAnswer(line)
            case Secret():
                return SecretAnswer(line)
            case Approval() | None:
                return None
            case _:
                assert_never(question)

    def choose(self, choice: Choice) -> Answer:
        """Return the answer for an approval."""
        return ApprovalAnswer(choice)

    def _next(self) -> None:
        if self._shown is not None or not self._waiting:
            return
        question = self._shown = self._waiting.popleft()
        self._screen.scene.asking_call = question.tool_call_id
        self._scroll.end_text()
        match question:
            case Approval():
                self._scroll.approval(question)
                self._screen.scene.approval = OpenApproval(question)
                if question.changes:
                    self.changes_shown.add(question.tool_call_id)
            case Clarify():
                self._show_item(question)
            case Sudo():
                self._scroll.secret(f"A password is needed for: {question.command}")
                self._screen.ask("password", hidden=True)
            case Secret():
                self._scroll.secret(question.prompt or f"A value for {question.env_var} is needed.")
                self._screen.ask(question.env_var, hidden=True)
            case _:
                assert_never(question)

    def _show_item(self, question: Clarify) -> None:
        self._scroll.clarify(question.items[len(self._clarified)])
        self._screen.ask("answer")

    def _clear(self) -> None:
        self._shown = None
        self._clarified = {}
        self._screen.scene.approval = None
        self._screen.scene.asking_call = ""
        self._screen.end_asking()


def _words(choice: Choice) -> str:
    return {"once": "once", "session": "for this session", "always": "always", "deny": "denied"}[choice]
