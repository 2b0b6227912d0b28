"""The keys of the chat."""

from __future__ import annotations

from typing import Protocol

from hermes_core.questions import Choice
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from hermes_cli.chat.actions import Action, Choose, Leave, Line, Stop
from hermes_cli.chat.scene import Scene
from hermes_cli.slash import SlashCommand


class Keyboard(Protocol):
    """What the keys work on: the screen, as they see it."""

    scene: Scene
    composer: Buffer

    def act(self, action: Action) -> None:
        """Pass on what the person did."""
        ...

    def suggestions(self) -> list[SlashCommand]:
        """Return the commands that what is typed may become."""
        ...


def key_bindings(screen: Keyboard) -> KeyBindings:
    """Return what the keys do: those of the composer, and those of an approval that lies on the screen."""
    keys = KeyBindings()
    _bind_composer(keys, screen)
    _bind_approval(keys, screen)
    return keys


def _bind_composer(keys: KeyBindings, screen: Keyboard) -> None:
    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        composer = screen.composer
        text = composer.text
        if not screen.scene.asked:
            if not text.strip():
                return
            composer.append_to_history()
        composer.reset()
        screen.act(Line(text))

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _newline(event: KeyPressEvent) -> None:
        screen.composer.insert_text("\n")

    @keys.add("tab")
    def _complete(event: KeyPressEvent) -> None:
        found = screen.suggestions()
        if found:
            screen.composer.text = f"/{found[0].name} "
            screen.composer.cursor_position = len(screen.composer.text)

    @keys.add("c-c")
    def _stop(event: KeyPressEvent) -> None:
        if screen.composer.text and not screen.scene.busy:
            screen.composer.reset()
        else:
            screen.act(Stop())

    @keys.add("c-d", filter=Condition(lambda: not screen.composer.text))
    def _leave(event: KeyPressEvent) -> None:
        screen.act(Leave())

    @keys.add("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    del _enter, _newline, _complete, _stop, _leave, _suspend


def _bind_approval(keys: KeyBindings, screen: Keyboard) -> None:
    """Bind the keys that answer an approval. They count only while no message is being written."""

    def asked() -> bool:
        return screen.scene.approval is not None and not screen.composer.text

    def choose(choice: Choice) -> None:
        approval = screen.scene.approval
        if approval is not None and approval.armed and choice in approval.question.choices:
            screen.act(Choose(approval.question.id, choice))

    here = Condition(asked)

    @keys.add("up", filter=here, eager=True)
    def _up(event: KeyPressEvent) -> None:
        if screen.scene.approval:
            screen.scene.approval.move(-1)

    @keys.add("down", filter=here, eager=True)
    def _down(event: KeyPressEvent) -> None:
        if screen.scene.approval:
            screen.scene.approval.move(1)

    @keys.add("enter", filter=here, eager=True)
    def _enter(event: KeyPressEvent) -> None:
        approval = screen.scene.approval
        if approval:
            choose(approval.question.choices[approval.chosen])

    @keys.add("o", filter=here, eager=True)
    def _once(event: KeyPressEvent) -> None:
        choose("once")

    @keys.add("s", filter=here, eager=True)
    def _session(event: KeyPressEvent) -> None:
        choose("session")

    @keys.add("a", filter=here, eager=True)
    def _always(event: KeyPressEvent) -> None:
        choose("always")

    @keys.add("d", filter=here, eager=True)
    def _deny(event: KeyPressEvent) -> None:
        choose("deny")

    del _up, _down, _enter, _once, _session, _always, _deny
