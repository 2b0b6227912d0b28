"""Text files on disk: read whole, written atomically, with line ends, byte order mark, mode and links kept."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import msgspec

from hermes_core.errors import ToolFailed

MAX_BYTES = 10 * 1024 * 1024
"""The largest file that is read whole or written."""
_BOM = "\ufeff"


class TextFile(msgspec.Struct, frozen=True):
    """The text of a file with `\\n` line ends, and how the file writes them. Bytes that are not UTF-8 round-trip."""

    text: str
    newline: str = "\n"
    bom: bool = False


def read_text(path: Path) -> TextFile:
    """Read a file. Raises ToolFailed where it is missing, not a regular file, too large, or not text."""
    found = regular_file(path)
    if found.st_size > MAX_BYTES:
        raise ToolFailed(f"{path} is {found.st_size:,} bytes long; the limit is {MAX_BYTES:,}.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror}.") from error
    if b"\0" in data[:8192]:
        raise ToolFailed(f"{path} is not a text file ({len(data):,} bytes).")
    text = data.decode("utf-8", "surrogateescape")
    bom = text.startswith(_BOM)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    text = text.removeprefix(_BOM)
    return TextFile(text.replace("\r\n", "\n") if newline == "\r\n" else text, newline, bom)


def write_text(path: Path, file: TextFile) -> None:
    """Replace or create a file in one step: a reader sees the old text or the new one, never a part.

    Missing folders are made. A link is followed and stays; the mode, and where permitted the owner, stay too.
    Raises ToolFailed.
    """
    newline = file.newline
    text = file.text if newline == "\n" else file.text.replace("\r\n", "\n").replace("\n", newline)
    data = ((_BOM if file.bom else "") + text).encode("utf-8", "surrogateescape")
    if len(data) > MAX_BYTES:
        raise ToolFailed(f"The text for {path} is {len(data):,} bytes long; the limit is {MAX_BYTES:,}.")
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        _replace(real, data)
    except OSError as error:
        raise ToolFailed(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from error


def remove(path: Path) -> None:
    """Remove a file (a link itself, not what it leads to). Raises ToolFailed."""
    try:
        path.unlink()
    except OSError as error:
        raise ToolFailed(f"{path} cannot be removed: {error.strerror}.") from error


def _replace(real: Path, data: bytes) -> None:
    import tempfile

    before = real.stat() if real.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise ToolFailed(f"{real} is not a regular file.")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{real.name[:40]}.", suffix=".new", dir=real.parent)
    new = Path(temporary)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if before is None:
            new.chmod(0o666 & ~_umask())
        else:
            with contextlib.suppress(OSError):  # only root may give files away
                os.chown(new, before.st_uid, before.st_gid)
            new.chmod(stat.S_IMODE(before.st_mode))
        new.replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def regular_file(path: Path) -> os.stat_result:
    """Return what the system knows of a file. Raises ToolFailed where there is none, or no regular one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise ToolFailed(f"There is no file {path}.{_similar(path)}") from None
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror}.") from error
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailed(f"{path} is a folder; list it with search_files, target 'files'.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailed(f"{path} is not a regular file.")
    return found


def _similar(path: Path) -> str:
    import difflib
    import itertools

    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in itertools.islice(entries, 1000)]
    except OSError:
        return f" The folder {path.parent} does not exist." if not path.parent.exists() else ""
    close = difflib.get_close_matches(path.name, names, n=3)
    return f" Similar names there: {', '.join(close)}." if close else ""
