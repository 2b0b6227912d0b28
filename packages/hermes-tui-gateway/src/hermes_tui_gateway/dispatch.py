"""Dispatch: from a line to the frame that answers it. The one file that touches jsonrpcserver.

A regular request goes straight to its method. Everything else (no JSON, no object, a batch, a value that the
fast decoder refuses) goes to jsonrpcserver over the same methods; both ways give the same answers.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio.to_thread
import msgspec
from hermes_core.errors import HermesError
from hermes_core.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, RpcError

from hermes_tui_gateway import decode
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import INTERNAL, WireError, rpc_error
from hermes_tui_gateway.decode import Request
from hermes_tui_gateway.frames import error_frame, result_frame
from hermes_tui_gateway.registry import METHODS, Method

log = logging.getLogger(__name__)

Dispatch = Callable[..., Awaitable[dict[str, Any]]]


class Dispatcher:
    """Answers lines with the methods of a registry."""

    def __init__(self, methods: Mapping[str, Method[Any, Any]] = METHODS) -> None:
        self._methods = methods

    def is_concurrent(self, request: Request | None) -> bool:
        """Say whether others may be served before this request is answered."""
        method = self._methods.get(request.method) if request else None
        return method is not None and method.concurrent

    async def answer(self, line: bytes, request: Request | None, call: Call) -> bytes:
        """Return the frame that answers `line`, of which `request` is what `decode.regular` made. Never raises."""
        if request is None:
            return await self.answer_by_library(line, call)
        identity = bytes(request.id)
        try:
            method = self._method(request.method)
            params = decode.params_from_json(method.params, method.decoder, request.params)
            return result_frame(identity, await perform(method, params, call))
        except WireError as refusal:
            return error_frame(identity, refusal.error)

    async def answer_by_library(self, line: bytes, call: Call) -> bytes:
        """Return the frame that answers `line`, whatever it is."""
        dispatch, wrapped = await anyio.to_thread.run_sync(_library)
        seen: Any = None

        def deserialize(_: str) -> Any:
            nonlocal seen
            seen = decode.any_json(line)
            return _normal(seen)

        answer = await dispatch(
            "",
            methods={name: wrapped(method) for name, method in self._methods.items()},
            context=call,
            deserializer=deserialize,
            validator=_validate,
        )
        # The library answers an object that is no request without its id, also where it has one.
        identity = msgspec.json.encode(cast("dict[str, Any]", seen).get("id") if isinstance(seen, dict) else None)
        if "error" in answer:
            return error_frame(identity, _error_of(answer["error"]))
        return result_frame(identity, answer["result"])

    def _method(self, name: str) -> Method[Any, Any]:
        method = self._methods.get(name)
        if method is None:
            raise WireError(METHOD_NOT_FOUND, f"Method not found: {name}")
        return method


async def perform(method: Method[Any, Any], params: Any, call: Call) -> Any:
    """Run a method. Raises WireError, whatever happened: no other error's text reaches a client."""
    try:
        return await method.handler(call, params)
    except WireError:
        raise
    except HermesError as error:
        raised = rpc_error(error, method.store_code)
        raise WireError(raised.code, raised.message, raised.data) from error
    except Exception as error:
        log.exception("%s failed", method.name)
        raise WireError(INTERNAL, f"{method.name} failed inside the server; its log tells more.") from error


def _library() -> tuple[Dispatch, Callable[[Method[Any, Any]], Any]]:
    """Load jsonrpcserver, which takes long and is rarely needed; return its dispatch, and what wraps a method."""
    import jsonrpcserver
    from jsonrpcserver.async_main import dispatch_to_serializable  # pyright: ignore[reportUnknownVariableType]
    from jsonrpcserver.exceptions import JsonRpcError

    def wrapped(method: Method[Any, Any]) -> Any:
        async def run(call: Call, params: Any) -> Any:
            try:
                result = await perform(method, decode.params_from_value(method.params, params), call)
            except WireError as refusal:
                error = refusal.error
                raise JsonRpcError(error.code, error.message, error.data) from refusal
            return jsonrpcserver.Success(result)

        return run

    return cast("Dispatch", dispatch_to_serializable), wrapped


def _normal(value: Any) -> Any:
    """Return a request in the library's own terms: the params as one argument, a missing id as null."""
    if not isinstance(value, dict):
        return value
    request = cast("dict[str, Any]", value)
    return {"method": request.get("method"), "params": [request.get("params")], "id": request.get("id")}


def _validate(value: Any) -> None:
    """Raise ValueError unless `value` is one request. Batches are not part of the protocol."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    method = cast("dict[str, Any]", value).get("method")
    if not isinstance(method, str) or not method:
        raise ValueError("no method")


def _error_of(error: dict[str, Any]) -> RpcError:
    """Return the library's error in our form: a reason that it gives as text belongs into the message."""
    code, message, data = error["code"], error["message"], error.get("data")
    if code == INVALID_REQUEST:
        return RpcError(code, "Invalid request: a request is one JSON object with a method, which is a string.")
    return RpcError(code, f"{message}: {data}") if isinstance(data, str) else RpcError(code, message, data)
