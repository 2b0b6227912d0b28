"""Rules for git: the actions that lose work, rewrite what others have, or run programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_core.tools.calls import Call
from hermes_core.tools.danger import Danger, Grade, Where
from hermes_core.tools.words import Word

_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
_LOST = "it throws away changes that were not committed"
_HISTORY = "it removes git's record of old states"
_ACTIONS: dict[str, tuple[str, str]] = {
    "push": (
        r"-\w*[fd]\w*|--force.*|--mirror|--delete|--prune|\+.*|:.+",
        "it overwrites or removes history on a remote",
    ),
    "reset": (r"--hard|--merge|--keep", _LOST),
    "clean": (r"-\w*[fxX]\w*|--force", "it removes files that git does not know"),
    "checkout": (r"-\w*f\w*|--force|--|\.", _LOST),
    "switch": (r"-\w*f\w*|--force|--discard-changes", _LOST),
    "restore": (r".*", _LOST),
    "rm": (r"-\w*[rf]\w*|--force", "it removes files"),
    "branch": (r"-\w*[DdMf]\w*|--delete|--force", "it removes or moves a branch"),
    "tag": (r"-\w*[df]\w*|--delete|--force", "it removes or moves a tag"),
    "stash": (r"drop|clear", "it throws away stashed changes"),
    "reflog": (r"expire|delete", _HISTORY),
    "gc": (r"--prune.*", _HISTORY),
    "prune": (r".*", _HISTORY),
    "filter-branch": (r".*", "it rewrites history"),
    "filter-repo": (r".*", "it rewrites history"),
    "update-ref": (r".*", "it moves or removes references"),
    "worktree": (r"remove|prune", "it removes a working tree"),
    "submodule": (r"deinit|foreach", "it removes submodules or runs a command in each"),
    "config": (
        r"(?i:--global|--system|core\.(?:hookspath|sshcommand|pager|editor|fsmonitor).*|alias\..*|.*\.textconv|filter\..*)",
        "it changes settings of git that may run programs",
    ),
    "rebase": (r"-x.*|--exec.*", "it runs a command at each commit"),
    "bisect": (r"run", "it runs a command at each commit"),
    "clone": (r"-c.*|--config.*|-u.*|--template.*", "it gives git settings that may run programs"),
    "remote": (r"remove|rm|set-url", "it changes where the repository pushes to"),
}


def git(call: Call, where: Where) -> Iterator[Danger]:
    """Judge `git` by its action and the arguments after it."""
    settings, action, rest = split_git(call.args)
    if any(word.text.startswith(("-c", "--config-env", "--exec-path=")) for word in settings):
        yield Danger(Grade.ASK, "it gives git settings that may run programs")
    texts = {word.text for word in rest}
    if action == "restore" and texts & {"--staged", "-S"} and not texts & {"--worktree", "-W"}:
        return  # the working tree stays as it is
    if any(text.startswith(("--upload-pack", "--receive-pack", "--exec=", "ext::")) for text in texts):
        yield Danger(Grade.ASK, "it makes git run a program of its choice")
    pattern, reason = _ACTIONS.get(action, ("", ""))
    certain = all(word.certain for word in call.args)
    whole_action = action in ("prune", "filter-branch", "filter-repo")
    if pattern and (whole_action or not certain or any(re.fullmatch(pattern, word.text) for word in rest)):
        yield Danger(Grade.ASK, reason)
    elif not action and not certain:
        yield Danger(Grade.ASK, "what it makes git do is computed")


def split_git(args: tuple[Word, ...]) -> tuple[list[Word], str, list[Word]]:
    """Return git's own options, the action, and the action's arguments."""
    index = 0
    while index < len(args) and args[index].text.startswith("-"):
        index += 2 if args[index].text in _VALUED else 1
    action = args[index].text if index < len(args) and args[index].certain else ""
    return list(args[:index]), action, list(args[index + 1 :])
