"""The dangers of a call: a table of rules by program name, and what holds for every program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hermes_core.tools import removals
from hermes_core.tools.calls import SHELLS, Call
from hermes_core.tools.danger import Danger, Grade, Where, touched
from hermes_core.tools.git_rules import git

Rule = Callable[[Call, Where], Iterator[Danger]]

_WRITERS = frozenset(
    [
        "tee",
        "touch",
        "cp",
        "mv",
        "ln",
        "install",
        "rsync",
        "truncate",
        "shred",
        "rm",
        "unlink",
        "rmdir",
        "dd",
        "sed",
        "chmod",
        "chown",
        "chgrp",
        "mkdir",
        "split",
        "unzip",
        "patch",
        "ed",
        "ex",
        "sponge",
    ]
)
_FETCHERS = frozenset(["curl", "wget", "fetch", "aria2c", "http", "https", "nc", "ncat", "socat", "ftp", "scp"])
_CODE_VARIABLES = frozenset(
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "IFS", "PROMPT_COMMAND", "PYTHONSTARTUP"]
)
_RISKY_CODE = re.compile(
    r"rmtree|remove|unlink|rmdir|truncate|shutil|subprocess|popen|\bsystem\b|spawn|\bexec|\beval\b|fork|child_process"
    r"|rmSync|rm_|\brm\b|writeFile|\bopen\s*\(|write_|chmod|chown|kill|__import__|compile|b64|fromhex|\bqx\b|`|socket|urlopen"
    r"|requests|\.env\b|environ|getattr|import_module",
    re.IGNORECASE,
)
_DROPS_DATA = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|index|view|user|role)|truncate\s|delete\s+from|alter\s+table)", re.IGNORECASE
)


def dangers(call: Call, where: Where) -> Iterator[Danger]:
    """Yield every danger of one call, in no order."""
    for redirect in call.redirects:
        yield from touched(redirect.target, where, writing=redirect.writes)
    rule = _RULES.get(call.name) or _FAMILIES.get(call.name.split(".", 1)[0])
    if rule is not None:
        yield from rule(call, where)
    for word in call.args:
        yield from touched(word, where, writing=call.name in _WRITERS)
    if call.stdin_code:
        source = "another command's output" if _FETCHERS.isdisjoint(call.upstream) else "a download"
        yield Danger(Grade.ASK, f"it runs {source} as a program")
    if call.code is not None and (not call.code.certain or _RISKY_CODE.search(call.code.text)):
        yield Danger(Grade.ASK, f"it runs {call.name} code that may change files or start programs")
    if not _CODE_VARIABLES.isdisjoint(call.assigns):
        yield Danger(Grade.ASK, "it sets a variable that changes which code programs run")


def _ask(reason: str, *marks: str) -> Rule:
    """Return a rule: ask when an argument is one of `marks` or not certain; without marks, always."""

    def rule(call: Call, where: Where) -> Iterator[Danger]:
        if not marks or any(word.text in marks or not word.certain for word in call.args):
            yield Danger(Grade.ASK, reason)

    return rule


def _kill(call: Call, where: Where) -> Iterator[Danger]:
    words = [word.text for word in call.args]
    signals = bool(words) and words[0].startswith("-")
    pids = words[1:] if signals else words
    wide = any(pid in ("0", "1") or not pid.isdigit() for pid in pids if not pid.startswith("%"))
    if wide or words == ["-1"]:
        yield Danger(Grade.ASK, "it ends processes that may not be its own")


def _database(call: Call, where: Where) -> Iterator[Danger]:
    texts = [word.text for word in (*call.args, *((call.stdin,) if call.stdin else ()))]
    if call.name in ("dropdb", "dropuser") or any(_DROPS_DATA.search(text) for text in texts):
        yield Danger(Grade.ASK, "it removes data from a database")
    if call.name == "redis-cli" and any(text.lower() in ("flushall", "flushdb") for text in texts):
        yield Danger(Grade.ASK, "it removes data from a database")


def _text_program(call: Call, where: Where) -> Iterator[Danger]:
    """Judge awk and sed, whose programs can start others and write files."""
    texts = [word.text for word in call.args]
    if call.name == "sed":
        if any(
            re.search(r"(?:^|[;}\d/$])\s*[eEwW](?:\s|$)|/[gIpM0-9]*[ew][gIpM0-9]*(?:\s|;|$)", text) for text in texts
        ):
            yield Danger(Grade.ASK, "its script starts other programs or writes files")
    elif any(re.search(r"\bsystem\s*\(|\|\s*getline|\|&?\s*\"|print[^;}]*>", text) for text in texts):
        yield Danger(Grade.ASK, "its program starts other programs or writes files")


def _archive(call: Call, where: Where) -> Iterator[Danger]:
    if removals.has(call, "--to-command", "--checkpoint-action", "--use-compress-program", "--remove-files"):
        yield Danger(Grade.ASK, "it runs another program or removes what it packs")
    if removals.has(call, "-P", "--absolute-names"):
        yield Danger(Grade.ASK, "it may overwrite files anywhere")


def _crontab(call: Call, where: Where) -> Iterator[Danger]:
    if [word.text for word in call.args] != ["-l"]:
        yield Danger(Grade.ASK, "it changes what runs at set times")


def _shell(call: Call, where: Where) -> Iterator[Danger]:
    if any(word.text in ("-i", "-l", "-il", "-li", "--login") for word in call.args[:1]):
        yield Danger(Grade.ASK, "it starts an interactive shell")


def _editor(call: Call, where: Where) -> Iterator[Danger]:
    if any(
        word.text in ("-c", "--cmd", "-S", "--eval", "-e", "-l", "--script") or word.text.startswith("+")
        for word in call.args
    ):
        yield Danger(Grade.ASK, "it gives an editor commands to run")


def _remote(call: Call, where: Where) -> Iterator[Danger]:
    if any("command=" in word.text.lower().replace(" ", "=") for word in call.args):
        yield Danger(Grade.ASK, "an option of it runs another command")


def _make(call: Call, where: Where) -> Iterator[Danger]:
    if any(word.text.startswith(("SHELL=", ".SHELLFLAGS=", "--eval")) for word in call.args):
        yield Danger(Grade.ASK, "it changes how make runs commands")


_STOPS = ("stop", "restart", "disable", "mask", "enable", "kill", "poweroff", "reboot", "halt", "isolate", "unload")
_UNINSTALLS = (
    "remove",
    "purge",
    "autoremove",
    "erase",
    "-R",
    "-Rs",
    "-Rns",
    "-r",
    "-P",
    "--remove",
    "--purge",
    "del",
    "uninstall",
)
_DESTROYS = ("delete", "destroy", "drain", "terminate-instances", "rb", "rm", "delete-stack", "uninstall", "apply")
_TABLE: tuple[tuple[str, Rule], ...] = (
    ("rm", removals.rm),
    ("find", removals.find),
    ("mv rsync", removals.move),
    ("dd", removals.dd),
    ("chmod chown chgrp chattr setfacl", removals.permissions),
    ("fdisk sfdisk cfdisk sgdisk gdisk parted wipefs mkswap blkdiscard diskutil newfs", removals.disk_format),
    ("git", git),
    ("kill", _kill),
    ("awk gawk mawk nawk sed", _text_program),
    ("tar bsdtar", _archive),
    ("crontab", _crontab),
    ("psql mysql mariadb sqlite3 sqlcmd mongosh mongo redis-cli dropdb dropuser", _database),
    (" ".join(SHELLS), _shell),
    ("vi vim nvim view ex ed emacs nano", _editor),
    ("ssh scp sftp", _remote),
    ("make gmake", _make),
    ("shred srm", _ask("it destroys files beyond recovery")),
    ("truncate", _ask("it empties or cuts files")),
    ("sudo su doas pkexec run0 sudoedit runuser gosu", _ask("it runs with the rights of another user")),
    (
        "mount umount swapoff losetup cryptsetup lvremove vgremove pvremove zpool zfs",
        _ask("it changes disks or mounts"),
    ),
    ("shutdown reboot halt poweroff init telinit kexec", _ask("it shuts the machine down or restarts it")),
    ("pkill killall killall5 skill xkill", _ask("it ends processes by name")),
    ("fuser", _ask("it ends processes by name", "-k", "--kill", "-km")),
    ("systemctl service launchctl rc-service", _ask("it stops or changes services", *_STOPS, "bootout", "remove")),
    ("iptables ip6tables nft ufw firewall-cmd pfctl ipset", _ask("it changes the firewall")),
    ("apt apt-get aptitude dpkg yum dnf pacman zypper apk rpm brew snap", _ask("it removes packages", *_UNINSTALLS)),
    ("at batch", _ask("it changes what runs at set times")),
    ("passwd chpasswd useradd userdel usermod groupadd groupdel visudo vipw", _ask("it changes users or passwords")),
    (
        "docker podman nerdctl",
        _ask("it removes or frees containers", "prune", "rm", "rmi", "kill", "down", "--privileged"),
    ),
    ("docker-compose podman-compose", _ask("it removes containers", "rm", "down", "kill")),
    (
        "kubectl helm terraform tofu pulumi aws gcloud az gsutil",
        _ask("it changes things in a cluster or cloud", *_DESTROYS),
    ),
    ("alias", _ask("it gives a command another meaning")),
    ("enable hash", _ask("it gives a command another meaning", "-f", "-p")),
    ("insmod rmmod modprobe sysctl setenforce", _ask("it changes the running kernel")),
    (
        "npm pnpm yarn cargo gem twine",
        _ask("it publishes or withdraws a package", "publish", "unpublish", "yank", "upload"),
    ),
    ("gh glab", _ask("it removes something on a remote", "delete", "archive")),
)
_RULES: dict[str, Rule] = {name: rule for names, rule in _TABLE for name in names.split()}
_FAMILIES: dict[str, Rule] = {"mkfs": removals.disk_format, "mke2fs": removals.disk_format}
