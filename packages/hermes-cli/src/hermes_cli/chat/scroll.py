"""What goes into the scrollback: messages, answers, tool calls and notices, with the blank lines between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hermes_core.events import ToolComplete
from hermes_core.messages import AssistantMessage, NoteMessage, StoredMessage, ToolMessage, UserMessage
from hermes_core.questions import Approval, ClarifyItem

from hermes_cli.chat.blocks import Blocks
from hermes_cli.chat.markdown import Painter
from hermes_cli.ink import Ink
from hermes_cli.printable import one_line, printable
from hermes_cli.toollines import change_lines, details, head, stored_heads

REPLAYED = 12
"""Rows of a resumed session that are shown."""
USER_LINES = 30


class Scroll:
    """Writes the chat down, piece by piece. `write` takes whole lines, in the order in which they are to stay."""

    def __init__(self, ink: Ink, painter: Painter, write: Callable[[str], None], width: Callable[[], int]) -> None:
        self._ink = ink
        self._painter = painter
        self._write = write
        self._width = width
        self._blocks = Blocks()
        self._last = ""
        self._pending: list[str] = []

    def flush(self) -> None:
        """Hand over what was written since the last time, in one piece."""
        if self._pending:
            text = "".join(self._pending)
            self._pending.clear()
            self._write(text)

    @property
    def unwritten(self) -> bool:
        """Whether something waits to be handed over."""
        return bool(self._pending)

    # -- answers

    def delta(self, text: str) -> None:
        """Take a fragment of the answer; the blocks that are whole are written."""
        for block in self._blocks.feed(text):
            self._block(block)

    @property
    def growing(self) -> str:
        """The block that is not whole yet, rendered; empty where there is nothing to see."""
        rest = self._blocks.rest
        return self._painter.growing(rest, self._width()) if rest.strip() else ""

    def end_text(self) -> None:
        """Write what is left of the answer: it will not grow any more."""
        for block in self._blocks.end():
            self._block(block)

    # -- everything else

    def user(self, text: str) -> None:
        """Write what the person said."""
        lines = self._painter.wrapped(text.strip("\n"), self._width() - 2)
        bold = self._ink.bold
        shown = [f"{self._ink.cyan('❯')} {bold(lines[0])}", *(f"  {bold(line)}" for line in lines[1:USER_LINES])]
        if len(lines) > USER_LINES:
            shown.append(self._ink.dim(f"  … {len(lines) - USER_LINES} more lines"))
        self._put("user", *shown)

    def command(self, text: str) -> None:
        """Write a command that was typed; what it says follows."""
        self._put("note", self._ink.dim(f"❯ {one_line(text, self._width() - 2)}"), apart=True)

    def tool(self, event: ToolComplete, *, changes_shown: bool) -> None:
        """Write how a tool call ended. `changes_shown`: its edits were shown when it was approved."""
        width = self._width()
        self._put("tool", head(event, self._ink, width))
        if not (changes_shown and event.changes):
            self._put("tool", *details(event, self._ink, width))

    def note(self, text: str) -> None:
        """Write a line beside the conversation."""
        self._put("note", *(self._ink.dim(line) for line in self._folded(text)))

    def warn(self, text: str) -> None:
        """Write what wants attention."""
        self._marked(self._ink.yellow("!"), text)

    def fault(self, text: str) -> None:
        """Write what failed."""
        self._marked(self._ink.red("✗"), text)

    def lines(self, *lines: str) -> None:
        """Write lines that are styled already."""
        self._put("lines", *lines)

    def approval(self, question: Approval) -> None:
        """Write what is to be approved, all of it: nobody should approve what they cannot see."""
        width = self._width()
        reason = f" asks: {question.description}" if question.description else " asks"
        first, *more = self._painter.wrapped(question.tool + reason, width - 2)
        named = self._ink.bold(first[: len(question.tool)]) + first[len(question.tool) :]
        self._put("question", f"{self._ink.yellow('?')} {named}", *(f"  {line}" for line in more))
        self._put("question", *(f"    {line}" for line in self._painter.wrapped(question.command, width - 4)))
        self._put("question", *change_lines(question.changes, self._ink, width, limit=400))

    def approved(self, text: str) -> None:
        """Write what became of a question."""
        self._put("question", self._ink.dim(f"  {text}"))

    def clarify(self, item: ClarifyItem) -> None:
        """Write a question of the agent and its choices."""
        self._put("question", f"{self._ink.yellow('?')} {self._ink.bold(printable(item.question))}")
        self._put("question", *(f"  {n}. {printable(choice)}" for n, choice in enumerate(item.choices, 1)))
        how = "numbers or your own words" if item.multiple else "a number or your own words"
        self._put("question", self._ink.dim(f"  {how if item.choices else 'Your own words'}, or nothing to go on."))

    def secret(self, text: str) -> None:
        """Write what a password or key is wanted for."""
        self._put("question", f"{self._ink.yellow('?')} {printable(text)}")

    def replay(self, rows: Sequence[StoredMessage]) -> None:
        """Write the end of a stored conversation."""
        shown = rows[-REPLAYED:]
        if len(rows) > len(shown):
            self.note(f"… {len(rows) - len(shown)} earlier messages")
        heads = stored_heads(rows, self._ink, self._width())
        for row in shown:
            match row.message:
                case UserMessage():
                    self.user(row.message.text)
                case AssistantMessage():
                    self.delta(row.message.text)
                    self.end_text()
                case ToolMessage():
                    self._put("tool", heads[row.row_id])
                case NoteMessage():
                    self.note(row.message.text)

    # -- how it is done

    def _block(self, block: str) -> None:
        if block.strip():
            self._put("text", self._painter.block(block, self._width()).rstrip("\n"), apart=True)

    def _marked(self, mark: str, text: str) -> None:
        first, *more = self._folded(text, 2) or [""]
        self._put("note", f"{mark} {first}", *(f"  {line}" for line in more))

    def _folded(self, text: str, margin: int = 0) -> list[str]:
        from textwrap import wrap

        width = max(8, self._width() - margin)
        return [part for line in printable(text).split("\n") for part in wrap(line, width)]

    def _put(self, kind: str, *lines: str, apart: bool = False) -> None:
        """Write lines, after a blank one where something of another kind (or, `apart`, anything) stands before."""
        if not lines:
            return
        if self._last and (apart or kind != self._last):
            self._pending.append("\n")
        self._last = kind
        self._pending.extend(line + "\n" for line in lines)
