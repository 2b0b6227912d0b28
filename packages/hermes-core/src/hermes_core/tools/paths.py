"""Paths that need care: the product's credential stores, other secrets, and files that change how a machine runs.

Every path is judged by what it leads to: links are followed first, and a hard link to a credential store is known
by its inode.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from posixpath import basename, join

import msgspec


class Care(IntEnum):
    """How careful to be with a path; the higher wins."""

    NONE = 0
    SENSITIVE = 1
    """A person is asked, in every edit mode."""
    STORE = 2
    """Refused: the product's own credentials and sessions."""


class Places(msgspec.Struct, frozen=True, dict=True):
    """Where things are: the session's folder, the product's home, the person's home."""

    cwd: Path
    home: Path
    user: Path

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The folders that hold credential stores: this home, the default one, and the one around a profile."""
        found = [self.home, self.user / ".hermes"]
        if self.home.parent.name == "profiles":
            found.append(self.home.parent.parent)
        return tuple(dict.fromkeys(os.path.realpath(root) for root in found))


_STORES = re.compile(
    r"(?:\.env(?:\..*)?|auth.*\.json|.*credential.*|.*token.*\.json|.*\.(?:sqlite3?|db)(?:[-.].*)?|\.?lock\.key)$",
    re.IGNORECASE,
)
_STORE_FILES = (".env", "auth.json", "credentials.json", "sessions.sqlite3", "sessions.sqlite3-wal", "state.db")
_SECRET_NAMES = re.compile(
    r"(?:\.env(?:\.(?!example$|sample$|template$|dist$).*)?|\.envrc|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|\.netrc|_netrc|\.pgpass|\.git-credentials|\.npmrc|\.pypirc|\.htpasswd|.*\.(?:pem|p12|pfx|kdbx|keystore|jks)"
    r"|shadow|gshadow|credentials|master\.key)$",
    re.IGNORECASE,
)
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"})
_SECRET_TAILS = (".config/gcloud", ".docker/config.json", ".config/gh/hosts.yml", ".config/op", ".cargo/credentials")
_STARTUP_NAMES = frozenset(
    {
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".login"),
        *(".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".inputrc"),
        *(".gitconfig", ".vimrc", ".tmux.conf", ".xinitrc", ".xprofile", ".xsession", ".pam_environment"),
        *("authorized_keys", "crontab", "sudoers", "fstab", "ld.so.preload"),
    }
)
_STARTUP_TAILS = (".config/fish", ".config/autostart", ".config/systemd", ".config/git/config", "Library/LaunchAgents")
_SYSTEM = (
    *("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/sys", "/proc", "/dev", "/opt", "/srv"),
    *("/var", "/run", "/System", "/Library", "/Applications", "/private/etc", "/private/var"),
)
_SYSTEM_FREE = ("/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm", "/usr/local/src")
HARMLESS_DEVICES = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr")
)
_OTHER_PROCESS = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?/(?:environ|mem|maps|auxv)$")


def judge(path: Path, places: Places, *, writing: bool) -> tuple[Care, str]:
    """Return how careful to be with `path` (absolute), and why. Links are followed; the file need not exist."""
    if "\0" in str(path):
        return Care.NONE, ""  # no file can have this name
    real = os.path.realpath(path)
    names = {path.name, basename(real)}
    if _is_store(real, places):
        return Care.STORE, "it is one of the product's own credential or session stores"
    if _OTHER_PROCESS.match(str(path)) or _OTHER_PROCESS.match(real):
        return Care.STORE, "it shows the memory or environment of a process"
    if _inside(real, places.roots) and (writing or basename(real) == "config.yaml"):
        return Care.SENSITIVE, "it belongs to the product's own home"
    if any(_SECRET_NAMES.match(name) for name in names) or _in_secret_folder(real):
        return Care.SENSITIVE, "it may hold keys or passwords"
    return _judge_write(real, names, places) if writing else (Care.NONE, "")


def _judge_write(real: str, names: set[str], places: Places) -> tuple[Care, str]:
    parts = real.split("/")
    if ".git" in parts[:-1] or (parts[-1] == ".git" and Path(real).exists()):
        return Care.SENSITIVE, "it is inside a repository's .git folder"
    if names & _STARTUP_NAMES or any(f"/{tail}" in real for tail in _STARTUP_TAILS):
        return Care.SENSITIVE, "it changes what runs at start-up or log-in"
    if real in HARMLESS_DEVICES or _inside(real, _SYSTEM_FREE) or _inside(real, (os.path.realpath(places.cwd),)):
        return Care.NONE, ""
    if _inside(real, _SYSTEM) and not _inside(real, (os.path.realpath(places.user),)):
        return Care.SENSITIVE, "it is in a system folder"
    return Care.NONE, ""


def inside(path: Path, folder: Path) -> bool:
    """Say whether `path`, links followed, is `folder` or below it."""
    return _inside(os.path.realpath(path), (os.path.realpath(folder),))


def _inside(real: str, folders: tuple[str, ...]) -> bool:
    return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders)


def _in_secret_folder(real: str) -> bool:
    return not _SECRET_FOLDERS.isdisjoint(real.split("/")) or any(f"/{tail}" in real for tail in _SECRET_TAILS)


def _is_store(real: str, places: Places) -> bool:
    roots = places.roots
    if _inside(real, roots) and _STORES.match(basename(real)):
        return True
    try:
        found = Path(real).stat()
    except OSError:
        return False
    return found.st_nlink > 1 and (found.st_dev, found.st_ino) in store_inodes(places)


def store_inodes(places: Places) -> frozenset[tuple[int, int]]:
    """Return device and inode of each credential store there is: how a hard link to one is known."""
    found: set[tuple[int, int]] = set()
    for root in places.roots:
        for folder in (root, *_profiles(root)):
            for name in _STORE_FILES:
                with suppress(OSError):
                    there = Path(join(folder, name)).stat()
                    found.add((there.st_dev, there.st_ino))
    return frozenset(found)


def may_need_care(real: str, places: Places) -> bool:
    """Say, by a path without links alone, whether `judge` could find anything about reading the file."""
    return _SECRET_NAMES.match(basename(real)) is not None or _in_secret_folder(real) or _inside(real, places.roots)


def _profiles(root: str) -> list[str]:
    try:
        with os.scandir(join(root, "profiles")) as entries:
            return [entry.path for entry in entries][:200]
    except OSError:
        return []
