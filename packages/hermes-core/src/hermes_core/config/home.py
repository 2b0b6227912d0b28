"""The home folder: where it is, and how its files are written so that a crash or a second writer loses nothing."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Mapping
from pathlib import Path

from hermes_core.errors import ConfigError

CONFIG_NAME = "config.yaml"
ENV_NAME = ".env"
MAX_BYTES = 4 * 1024 * 1024


def find_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the home folder: `HERMES_HOME`, else `~/.hermes`. Nothing is created."""
    given = (os.environ if environ is None else environ).get("HERMES_HOME", "").strip()
    return Path(given).expanduser().absolute() if given else Path.home() / ".hermes"


def ensure_home(home: Path) -> Path:
    """Create the home folder, readable by its owner only, if it is missing. Raises ConfigError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{home} cannot be created: {error.strerror}.") from error
    return home


def read_text(path: Path) -> str | None:
    """Return the text of a settings file with its line ends as they are; None if there is no such file.

    Raises ConfigError when it cannot be read, is no UTF-8, or is larger than 4 MiB.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - pathlib's stat is the same call, slower
            raise ConfigError(f"{path} is not a file.")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES // 1024 // 1024} MiB.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: this is not UTF-8 text.") from error


def write_private(path: Path, text: str) -> None:
    """Replace a file at one stroke: readable by its owner only, on disk before the old one goes, links followed.

    Raises ConfigError when the folder cannot be written; the old file is then untouched.
    """
    import tempfile

    ensure_home(path.parent)
    target = path.resolve()
    temporary = ""
    try:
        # mkstemp makes the file 0600, so that nobody can read it between creation and rename.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)  # noqa: PTH105 - the names are strings already
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - as above
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error


@contextlib.contextmanager
def write_lock(home: Path) -> Generator[None]:
    """Hold the right to change the settings files of a home, among processes that ask for it this way.

    The lock sits on the folder itself, so no lock file is left behind; where folders cannot be locked, it is void.
    """
    ensure_home(home)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
