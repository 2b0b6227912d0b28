"""Programs that run another program given in their arguments, and how to find it there."""

from __future__ import annotations

import re

import msgspec

from hermes_core.tools.words import Word


class Wrapper(msgspec.Struct, frozen=True):
    """How a wrapper reads its arguments.

    `valued`: options that take the next word (or the rest of their own) as value; `flags`: letters of options
    without one; `long`: the same, long. `skip`: positional arguments before the inner program; `assigns`:
    `NAME=value` may come first; `appends`: it adds words of its own to the inner program's; `joins`: it joins the
    words and gives the text to a shell.
    """

    valued: frozenset[str] = frozenset()
    flags: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    appends: bool = False
    joins: bool = False


def _w(
    valued: str = "",
    flags: str = "",
    long: str = "",
    *,
    skip: int = 0,
    assigns: bool = False,
    appends: bool = False,
    joins: bool = False,
) -> Wrapper:
    return Wrapper(frozenset(valued.split()), flags, frozenset(long.split()), skip, assigns, appends, joins)


WRAPPERS: dict[str, Wrapper] = {
    "env": _w("-u --unset -C --chdir -P", "i0v", "--ignore-environment --null --debug", assigns=True),
    "command": _w(flags="p"),
    "builtin": _w(),
    "exec": _w("-a", "cl"),
    "nohup": _w(),
    "nice": _w("-n --adjustment"),
    "ionice": _w("-c -n -p --class --classdata", "t"),
    "chrt": _w("-T -P -D", "abdfimor", skip=1),
    "taskset": _w(flags="ac", long="--all-tasks --cpu-list", skip=1),
    "time": _w("-f --format -o --output", "apqvV", "--portability --verbose --append"),
    "timeout": _w("-k --kill-after -s --signal", "v", "--foreground --preserve-status --verbose", skip=1),
    "stdbuf": _w("-i --input -o --output -e --error"),
    "unbuffer": _w(flags="p"),
    "setsid": _w(flags="cfw", long="--ctty --fork --wait"),
    "caffeinate": _w("-t -w", "dimsu"),
    "xargs": _w(
        "-I -n -P -L -s -d -E -a -J -R -S --max-args --max-procs --delimiter --arg-file --max-lines --max-chars",
        "0rtpxoile",
        "--null --no-run-if-empty --verbose --interactive --exit --replace",
        appends=True,
    ),
    "sudo": _w(
        "-u -g -h -p -U -C -D -R -T -r -t --user --group --host --prompt --chdir --close-from",
        "AbBEeHiKklnPSsvV",
        "--askpass --background --preserve-env --set-home --login --non-interactive --stdin --shell",
        assigns=True,
    ),
    "doas": _w("-u -C", "Lns"),
    "pkexec": _w("--user", "", "--disable-internal-agent"),
    "run0": _w("-u --user"),
    "chroot": _w("--userspec --groups", "", "--skip-chdir", skip=1),
    "unshare": _w("-R -S -G -w --root --wd", "imnpuUCTcrf", "--fork --mount --pid --net --user --map-root-user"),
    "nsenter": _w("-t -S -G --target --setuid --setgid", "amuinpUCTrwFZ", "--all --mount --pid --net"),
    "flock": _w("-w -E --timeout --wait --conflict-exit-code", "nsxuoFv", "--nonblock --shared --exclusive", skip=1),
    "strace": _w("-o -e -p -s -E -u -P -S -a -b -X -O -I", "cCdfFhiqrtTvVwxyYzZknDA"),
    "ltrace": _w("-o -e -p -s -u -l -a -n -x", "cCfiLrStTbS"),
    "busybox": _w(),
    "toybox": _w(),
    "proxychains": _w("-f", "q"),
    "proxychains4": _w("-f", "q"),
    "systemd-run": _w(
        "-u -p -M -H --unit --property --slice --uid --gid --working-directory -E --setenv",
        "Gtrdqnv",
        "--user --system --scope --pty --wait --collect --quiet",
    ),
    "watch": _w("-n --interval", "bcdegtpxq", "--color --differences --no-title --exec", joins=True),
    "ssh": _w("-p -i -l -o -F -J -L -R -D -b -c -e -m -S -W -w -E -B -I", "46AaCfGgKkMNnqsTtVvXxY", skip=1, joins=True),
}


def inner_words(args: tuple[Word, ...], wrapper: Wrapper) -> tuple[tuple[Word, ...], bool]:
    """Return the words from the inner program on, and whether every option before it was known."""
    index = 0
    skip = wrapper.skip
    known = True
    while index < len(args):
        text = args[index].text
        if text == "--":
            index += 1
            if not skip:
                return args[index:], known
        elif text.startswith("-") and len(text) > 1:
            takes, understood = _option(text, wrapper)
            known = known and understood
            index += takes
        elif wrapper.assigns and re.match(r"\w+=", text):
            index += 1
        elif skip:
            skip -= 1
            index += 1
        else:
            return args[index:], known
    return (), known


def _option(text: str, wrapper: Wrapper) -> tuple[int, bool]:
    """Return how many words an option takes, and whether it is known."""
    if text in wrapper.valued:
        return 2, True
    if text.startswith("--"):
        name = text.split("=", 1)[0]
        return 1, name in wrapper.long or (name in wrapper.valued and "=" in text)
    if re.fullmatch(r"-\d+", text):
        return 1, True  # nice -5
    for place, letter in enumerate(text[1:], 1):
        if f"-{letter}" in wrapper.valued:
            return (2, True) if place == len(text) - 1 else (1, True)
        if letter not in wrapper.flags:
            return 1, False
        if letter in "ile" and place < len(text) - 1 and wrapper.appends:
            return 1, True  # xargs -i{}: the rest is its value
    return 1, True
