"""The official JSON Schema of the Agent Client Protocol, which its npm package ships, and frames checked against it.

The package is fetched when a test first wants it, and kept in pytest's cache; nothing of it is part of this
repository.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator, ValidationError

PACKAGE = "@agentclientprotocol/sdk@2.4.0"
MEMBER = "package/schema/v1/schema.json"
FETCH_SECONDS = 60

Frame = dict[str, Any]
Kind = Literal["Request", "Response", "Notification"]


class SchemaUnavailable(Exception):
    """The package cannot be had here; the message says why."""


def fetched_schema(cache: Path) -> dict[str, Any]:
    """Return the schema from `cache`, fetched with npm if it is not there yet. Raises SchemaUnavailable."""
    kept = cache / f"{PACKAGE.rpartition('@')[2]}.json"
    if not kept.exists():
        kept.write_bytes(_packed(cache))
    return json.loads(kept.read_bytes())


def _packed(folder: Path) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise SchemaUnavailable("there is no npm here")
    command = [npm, "pack", PACKAGE, "--silent", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        raise SchemaUnavailable(f"npm did not fetch {PACKAGE} within {FETCH_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        raise SchemaUnavailable(f"npm could not fetch {PACKAGE}: {error.stderr.strip()[:300]}") from None
    archive = folder / done.stdout.split()[-1]
    with tarfile.open(archive) as package:
        member = package.extractfile(MEMBER)
        assert member is not None
        data = member.read()
    archive.unlink()
    return data


@pytest.fixture(scope="session")
def frame_schema(request: pytest.FixtureRequest) -> FrameSchema:
    """Return the official schema, or skip the test and say that it did not run."""
    try:
        return FrameSchema(fetched_schema(request.config.cache.mkdir("acp-schema")))
    except SchemaUnavailable as reason:
        pytest.skip(f"not run: {reason}")


class FrameSchema:
    """Checks frames: each against the definition of its own method, not against the union of all."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._definitions: dict[str, Any] = schema["$defs"]
        self._names = {
            (definition["x-method"], kind): name
            for name, definition in self._definitions.items()
            for kind in ("Request", "Response", "Notification")
            if "x-method" in definition and name.endswith(kind)
        }
        self._envelope = Draft202012Validator(schema)

    def faults(self, sent: Iterable[Frame], received: Iterable[Frame]) -> list[str]:
        """Return what is wrong in the frames of one connection; `sent` are those of one side, in any order."""
        ours, theirs = list(sent), list(received)
        return [*self._faults_of(ours, asked=theirs), *self._faults_of(theirs, asked=ours)]

    def _faults_of(self, frames: list[Frame], asked: list[Frame]) -> list[str]:
        methods = {frame["id"]: frame["method"] for frame in asked if "id" in frame and "method" in frame}
        return [fault for frame in frames for fault in self._faults(frame, methods)]

    def _faults(self, frame: Frame, methods: dict[Any, str]) -> list[str]:
        wrong = [*self._errors(self._envelope, frame)]
        if "method" in frame:
            kind: Kind = "Request" if "id" in frame else "Notification"
            return wrong + self._checked(frame["method"], kind, frame.get("params"))
        if frame["id"] not in methods:
            return [*wrong, f"nobody asked for {frame}"]
        if "error" in frame:
            return wrong + self._against("Error", frame["error"])
        return wrong + self._checked(methods[frame["id"]], "Response", frame["result"])

    def _checked(self, method: str, kind: Kind, value: Any) -> list[str]:
        name = self._names.get((method, kind))
        return [f"the protocol has no {kind} {method}"] if name is None else self._against(name, value)

    def _against(self, name: str, value: Any) -> list[str]:
        schema = {"$ref": f"#/$defs/{name}", "$defs": self._definitions}
        return [f"{name}: {fault}" for fault in self._errors(Draft202012Validator(schema), value)]

    def _errors(self, validator: Draft202012Validator, value: Any) -> list[str]:
        errors: Iterable[ValidationError] = validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]
        return [f"{error.json_path}: {error.message[:500]}" for error in errors]
