"""Decoding of request bodies: a struct, or a 400 that names the field."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from hermes_api.errors import ApiError

Body = TypeVar("Body", bound=msgspec.Struct)
_MISSING = re.compile(r"required field `(\w+)`")
_PATH = re.compile(r" - at `\$\.?(.*)`$")


def decode(body: bytes, kind: type[Body]) -> Body:
    """Return the JSON object in `body` as a struct of `kind`; unknown keys are ignored. Raises ApiError 400."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        text = str(error)
        field = match[1] if (match := _PATH.search(text)) else ""
        if not field and not body.lstrip().startswith(b"{"):
            raise ApiError(400, "The request body must be a JSON object.", "invalid_body") from None
        if missing := _MISSING.search(text):
            field = f"{field}.{missing[1]}" if field else missing[1]
            raise ApiError(400, f"'{field}' is missing.", "missing_field", param=field) from None
        raise ApiError(400, f"'{field}' is wrong: {_PATH.sub('', text)}.", "invalid_type", param=field) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ApiError(400, "The request body is not valid JSON.", "invalid_json") from None
