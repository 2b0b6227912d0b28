"""Questions at a plain terminal: shown on stderr, answered with a line, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import anyio
from hermes_core.commands import AnswerQuestion
from hermes_core.errors import QuestionError
from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Choice,
    Clarify,
    ClarifyAnswer,
    ClarifyItem,
    Question,
    Secret,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)

from hermes_cli.ink import Ink
from hermes_cli.outlet import Outlet
from hermes_cli.printable import one_line, printable
from hermes_cli.terminal_lines import TerminalLines
from hermes_cli.toollines import change_lines

if TYPE_CHECKING:
    from hermes_core.session.session import Session

MOST_OPEN = 256
WORDS: dict[Choice, str] = {"once": "once", "session": "this session", "always": "always", "deny": "deny"}


class Asker:
    """Asks the person at the terminal what a session asks; drops a question that was closed meanwhile."""

    def __init__(self, session: Session, screen: Outlet, ink: Ink) -> None:
        self._session = session
        self._screen = screen
        self._ink = ink
        self._lines = TerminalLines(screen)
        self._send, self._waiting = anyio.create_memory_object_stream[Question](MOST_OPEN)
        self._closed: set[str] = set()
        self._current: tuple[str, anyio.CancelScope] | None = None

    async def ask(self, question: Question) -> None:
        """Put a question in the line of those to ask."""
        await self._send.send(question)

    def closed(self, request_id: str) -> None:
        """Ask this one no longer."""
        self._closed.add(request_id)
        if self._current and self._current[0] == request_id:
            self._current[1].cancel()

    async def run(self) -> None:
        """Ask one question after the other, until cancelled."""
        with self._send, self._waiting:
            async for question in self._waiting:
                if question.id not in self._closed:
                    await self._one(question)

    async def _one(self, question: Question) -> None:
        with anyio.CancelScope() as scope:
            self._current = (question.id, scope)
            answer = await self._answer(question)
            self._current = None
            try:
                await self._session.dispatch(AnswerQuestion(question.id, answer))
            except QuestionError as error:
                await self._say(self._ink.dim(str(error)))
        self._current = None
        if scope.cancelled_caught:
            await self._screen.write("\n")
            await self._say(self._ink.dim("This is no longer asked."))

    async def _answer(self, question: Question) -> Answer:
        await self._screen.end_line()
        match question:
            case Approval():
                return ApprovalAnswer(await self._choice(question))
            case Clarify():
                return ClarifyAnswer({item.id: await self._clarified(item) for item in question.items})
            case Sudo():
                await self._say(f"A password is needed for: {one_line(question.command, 200)}")
                return SudoAnswer(await self._line("Password (empty = no): ", hidden=True))
            case Secret():
                await self._say(printable(question.prompt) or f"A value for {question.env_var} is needed.")
                return SecretAnswer(await self._line(f"{question.env_var} (empty = skip): ", hidden=True))
            case _:
                assert_never(question)

    async def _choice(self, question: Approval) -> Choice:
        """Ask until one of the offered letters is typed; the end of input is a denial."""
        ink = self._ink
        await self._say(f"{ink.yellow('?')} {ink.bold(question.tool)} asks: {printable(question.description)}")
        for line in printable(question.command).split("\n"):
            await self._say(f"    {line}")
        for line in change_lines(question.changes, ink, 100):
            await self._say(line)
        offered = ", ".join(f"[{choice[0]}] {WORDS[choice]}" for choice in question.choices)
        while True:
            typed = await self._line(f"  {offered}: ", at_end="d")
            for choice in question.choices:
                if typed.lower() in (choice, choice[0]):
                    return choice

    async def _clarified(self, item: ClarifyItem) -> str:
        ink = self._ink
        await self._say(f"{ink.yellow('?')} {printable(item.question)}")
        for number, choice in enumerate(item.choices, 1):
            await self._say(f"  {number}. {printable(choice)}")
        return chosen(item, await self._line("  Answer (empty = go on without): "))

    async def _line(self, prompt: str, *, hidden: bool = False, at_end: str = "") -> str:
        line = await self._lines.ask(prompt, hidden=hidden)
        return at_end if line is None else line.strip()

    async def _say(self, line: str) -> None:
        await self._screen.write(line + "\n")


def chosen(item: ClarifyItem, typed: str) -> str:
    """Return the answer that was typed: a number, or with `multiple` several, stand for the choices."""
    words = typed.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    fits = all(1 <= number <= len(item.choices) for number in numbers)
    if not words or len(numbers) != len(words) or not fits or (len(numbers) > 1 and not item.multiple):
        return typed.strip()
    return ", ".join(item.choices[number - 1] for number in numbers)
