"""A lean HTTP client: it must cost less than what it measures, on the same two cores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec
from hermes_core.models.sse import SseParser

BLOCK = 256 * 1024


class Delta(msgspec.Struct):
    """The part of a choice that a stream adds."""

    content: str | None = None


class Choice(msgspec.Struct):
    """A choice of a stream."""

    delta: Delta


class Chunk(msgspec.Struct):
    """One chunk of a streamed chat completion."""

    choices: list[Choice]


_chunks = msgspec.json.Decoder(Chunk)


def texts(data: bytes) -> str:
    """Return what one event of a stream adds to the answer."""
    return "" if data == b"[DONE]" else "".join(choice.delta.content or "" for choice in _chunks.decode(data).choices)


class Client:
    """One keep-alive connection."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._key = key

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=BLOCK)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, text: str) -> bytes:
        """Return the whole answer to one message."""
        await self._send(text, stream=False)
        return b"".join([block async for block in self._body()])

    async def stream(self, text: str) -> AsyncGenerator[str]:
        """Yield the text of the events of each block that arrives."""
        await self._send(text, stream=True)
        parser = SseParser()
        async for block in self._body():
            said = "".join(texts(event.data) for event in parser.feed(block))
            if said:
                yield said

    async def _send(self, text: str, *, stream: bool) -> None:
        body = msgspec.json.encode(
            {"model": "scripted-model", "stream": stream, "messages": [{"role": "user", "content": text}]}
        )
        head = [
            "POST /v1/chat/completions HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            f"Authorization: Bearer {self._key}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await self._writer.drain()

    async def _body(self) -> AsyncGenerator[bytes]:
        """Yield the body of the response in the blocks in which it comes."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status, _, rest = head.partition("\r\n")
        if " 200" not in status:
            raise RuntimeError(f"the server answers {status}")
        if "transfer-encoding: chunked" in rest:
            unframed = Unchunked()
            while not unframed.over:
                if block := unframed.feed(await self._reader.read(BLOCK)):
                    yield block
            return
        length = int(rest.partition("content-length:")[2].partition("\r\n")[0])
        yield await self._reader.readexactly(length)


class Unchunked:
    """Takes the framing off a chunked body. Trailers are not expected."""

    def __init__(self) -> None:
        self._rest: bytes = b""
        self.over = False

    def feed(self, data: bytes) -> bytes:
        """Return what of the body is in `data`, as far as its chunks are whole."""
        if not data:
            raise EOFError("the server closed the connection in mid-answer")
        data = self._rest + data
        at, found = 0, list[bytes]()
        while (end := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:end], 16)
            after = end + 2 + size + 2
            if len(data) < after:
                break
            if size == 0:
                self.over = True
                break
            found.append(data[end + 2 : after - 2])
            at = after
        self._rest = data[at:]
        return b"".join(found)
