"""Markdown blocks as text with ANSI styles: no frames, no centred headings, the terminal's own colours."""

from __future__ import annotations

from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING

from hermes_cli.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown

WIDEST = 100
"""Columns of running text: longer lines are hard to read on a wide screen."""
LIVE_LINES = 60
LIVE_TEXT = 6000
"""Lines and characters of a growing block that are looked at: more do not fit on the screen anyway."""

STYLES = {
    "markdown.h1": "bold underline",
    **{f"markdown.h{level}": "bold" for level in range(2, 7)},
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.block_quote": "dim italic",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.list": "none",
    "markdown.link": "none",
    "markdown.link_url": "dim underline",
    "markdown.hr": "dim",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}


class Painter:
    """Renders Markdown for one terminal. Loads `rich` at first use."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured

    def warm(self) -> None:
        """Load what the first block needs; it takes a moment, so call it where nobody waits."""
        self.block("`x`\n\n```py\nx = 1\n```", 80)

    def block(self, text: str, width: int) -> str:
        """Return a block rendered in `width` columns, without blank lines around it; lines end in a newline."""
        console = self._console(min(width, WIDEST))
        with console.capture() as captured:
            console.print(self._kind(printable(text), hyperlinks=False))
        lines = [line.rstrip() for line in captured.get().split("\n")]
        while lines and _is_blank(lines[0]):
            lines.pop(0)
        while lines and _is_blank(lines[-1]):
            lines.pop()
        return "".join(line + "\n" for line in lines)

    def growing(self, text: str, width: int) -> str:
        """Return the end of a block that is not whole yet, rendered; its cost does not grow with the block."""
        end = text[-LIVE_TEXT:].split("\n")[-LIVE_LINES:]
        if sum(map(len, end)) + len(end) > len(text):
            return self.block(text, width)
        first = text[:80].split("\n", 1)[0]
        head = [first] if first.lstrip().startswith(("```", "~~~")) else []
        return self.block("\n".join([*head, *end]), width)

    def wrapped(self, text: str, width: int) -> list[str]:
        """Return plain text as lines of at most `width` columns; wide characters count two."""
        from rich.text import Text

        console = self._console(width)
        return [line.plain.rstrip() for line in Text(printable(text)).wrap(console, max(8, width), tab_size=4)]

    def _console(self, width: int) -> Console:
        from rich.console import Console
        from rich.theme import Theme

        return Console(
            file=StringIO(),
            force_terminal=True,
            width=max(20, width),
            color_system="standard" if self._coloured else None,
            no_color=not self._coloured,
            legacy_windows=False,
            theme=Theme(STYLES),
        )

    @cached_property
    def _kind(self) -> type[Markdown]:
        return _plain_markdown()


def _is_blank(line: str) -> bool:
    return not printable(line).strip()


def _plain_markdown() -> type[Markdown]:
    """Return the Markdown renderable with headings at the left margin and code without a background."""
    from rich.markdown import CodeBlock, Heading, Markdown
    from rich.padding import Padding
    from rich.syntax import Syntax

    class LeftHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class PlainCode(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = str(self.text).rstrip()
            yield Padding(
                Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True),
                (0, 0, 0, 2),
            )

    class PlainMarkdown(Markdown):
        elements = {  # noqa: RUF012 - the base class has a plain dict
            **Markdown.elements,
            "heading_open": LeftHeading,
            "fence": PlainCode,
            "code_block": PlainCode,
        }

    return PlainMarkdown
