"""What the foot of the terminal shows: the growing answer, running tools, what is asked, the queue, the status.

Plain data, and functions that turn it into lines with ANSI styles; no terminal is needed to read or test it.
"""

from __future__ import annotations

import time

from hermes_core.questions import Approval, Choice

from hermes_cli.ink import Ink
from hermes_cli.printable import duration, last_lines, one_line
from hermes_cli.toollines import title

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TICK = 0.1
"""Seconds between two looks at the clock while something runs."""
PROGRESS_LINES = 3
PROGRESS_KEPT = 4096
QUEUE_LINES = 3
ARMING = 0.4
"""Seconds before a fresh approval takes keys: what is being typed at that moment is no answer to it."""

CHOICE_WORDS: dict[Choice, str] = {
    "once": "allow once",
    "session": "allow for this session",
    "always": "always allow",
    "deny": "deny",
}


class RunningTool:
    """A call that has begun and not ended."""

    def __init__(self, name: str, label: str) -> None:
        self.title = title(name, label) or name
        self.since = time.monotonic()
        self.output = ""

    def add(self, text: str) -> None:
        """Take more output; only its end is kept."""
        self.output = (self.output + text)[-PROGRESS_KEPT:]


class OpenApproval:
    """An approval on the screen, and the line that is chosen."""

    def __init__(self, question: Approval) -> None:
        self.question = question
        self.chosen = 0
        self.since = time.monotonic()

    @property
    def armed(self) -> bool:
        """Whether keys answer it by now."""
        return time.monotonic() - self.since >= ARMING

    def move(self, by: int) -> None:
        """Choose the next or the previous line."""
        self.chosen = (self.chosen + by) % len(self.question.choices)


class Scene:
    """Everything the foot shows. The chat changes it, the screen draws it."""

    def __init__(self, ink: Ink) -> None:
        self.ink = ink
        self.growing = ""
        """Rendered text of the block that is not whole yet."""
        self.tools: dict[str, RunningTool] = {}
        self.approval: OpenApproval | None = None
        self.asking_call = ""
        """The call that waits for the answer on the screen: its question stands for it."""
        self.asked = ""
        """The label of the composer while it takes an answer; empty while it takes messages."""
        self.hidden = False
        """Whether what is typed is a secret."""
        self.queue: tuple[str, ...] = ()
        self.doing = ""
        """What goes on, a word or two; empty while idle."""
        self.since = 0.0
        self.leaving = False
        """Whether Ctrl-C was just pressed at an idle prompt."""
        self.model = ""
        self.cwd = ""
        self.title = ""
        self.context = ""
        self.unasked = False
        """Whether approvals are off."""

    @property
    def busy(self) -> bool:
        return bool(self.doing)

    @property
    def filled(self) -> bool:
        """Whether something stands between the scrollback and the composer."""
        return bool(self.growing or self.approval or self._running())

    def begin(self, doing: str) -> None:
        """Say what goes on; the clock starts with the first word after idleness."""
        if not self.doing:
            self.since = time.monotonic()
        self.doing = doing

    def rest(self) -> None:
        """Nothing goes on any more."""
        self.doing = ""
        self.growing = ""
        self.tools.clear()

    def tail(self, rows: int) -> str:
        """Return the end of the growing text that fits into `rows` lines."""
        return "\n".join(self.growing.rstrip("\n").split("\n")[-rows:])

    def tool_lines(self, width: int) -> list[str]:
        """Return the running calls, each with the end of its output."""
        lines: list[str] = []
        for tool in self._running():
            seconds = time.monotonic() - tool.since
            took = f"  {duration(seconds)}" if seconds >= 1 else ""
            lines.append(f"{self.ink.cyan('●')} {one_line(tool.title, width - 12)}{self.ink.dim(took)}")
            lines += [
                self.ink.dim(f"  {one_line(line, width - 3)}") for line in last_lines(tool.output, PROGRESS_LINES)
            ]
        return lines

    def _running(self) -> list[RunningTool]:
        return [tool for call, tool in self.tools.items() if call != self.asking_call]

    def approval_lines(self, width: int, *, typing: bool) -> list[str]:
        """Return the answers that are offered; the keys appear as soon as they count.

        `typing`: a message is being written, and keys go there.
        """
        approval = self.approval
        if approval is None:
            return []
        keys = approval.armed and not typing
        lines: list[str] = []
        for number, choice in enumerate(approval.question.choices):
            here = number == approval.chosen and keys
            key = f"[{choice[0]}]" if keys else "   "
            grant = ""
            if choice in ("session", "always") and approval.question.patterns:
                grant = f"  {one_line(', '.join(approval.question.patterns), max(8, width - 36))}"
            line = f"{'❯' if here else ' '} {key} {CHOICE_WORDS[choice]}"
            lines.append((self.ink.cyan(line) if here else line) + self.ink.dim(grant))
        if typing:
            lines.append(self.ink.dim("  Send or clear the message below to answer."))
        return lines

    def queue_lines(self, width: int) -> list[str]:
        """Return the follow-ups that wait."""
        lines = [self.ink.dim(f"next: {one_line(text, width - 7)}") for text in self.queue[:QUEUE_LINES]]
        if len(self.queue) > QUEUE_LINES:
            lines.append(self.ink.dim(f"      and {len(self.queue) - QUEUE_LINES} more"))
        return lines

    def status_line(self, width: int) -> str:
        """Return what goes on, for how long, and how it is stopped."""
        if not self.doing:
            return self.ink.dim("Press Ctrl-C again to leave.") if self.leaving else ""
        seconds = time.monotonic() - self.since
        spinner = "?" if self.approval or self.asked else SPINNER[int(seconds / TICK) % len(SPINNER)]
        took = f" · {duration(seconds)}" if seconds >= 1 else ""
        text = one_line(f"{self.doing}{took} · Ctrl-C stops", width - 2)
        return f"{self.ink.yellow(spinner) if spinner == '?' else self.ink.cyan(spinner)} {self.ink.dim(text)}"

    def footer(self, width: int) -> str:
        """Return the model, the folder, how full the context is, and the title; the folder gives way first."""
        warning = "approvals are off" if self.unasked else ""
        others = [part for part in (warning, self.model, self.context, self.title) if part]
        room = width - sum(len(part) + 3 for part in others)
        folder = self.cwd if len(self.cwd) <= room else f"…{self.cwd[-room + 1 :]}" if room > 8 else ""
        parts = [part for part in (self.model, folder, self.context, self.title) if part]
        if warning:
            line = one_line(" · ".join(parts), max(0, width - len(warning) - 3))
            return f"{self.ink.yellow(warning)} {self.ink.dim('· ' + line)}"
        return self.ink.dim(one_line(" · ".join(parts), width))
