"""Lines on real pipes, and a process that keeps its standard output to itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hermes_core.jsonrpc import TooLong
from hermes_core.stdio import LineTransport, stop_signal

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="POSIX descriptors")]

SMALL_FRAME = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"12345678"}}'


class Pipes:
    """A transport between two pipes: `feed` is what it reads, `sink` what it wrote."""

    def __init__(self) -> None:
        self.source, self.feed = os.pipe()
        self.sink, self.target = os.pipe()
        self.open = {self.source, self.feed, self.sink, self.target}

    def close(self, *descriptors: int) -> None:
        for descriptor in descriptors or tuple(self.open):
            os.close(descriptor)
            self.open.discard(descriptor)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pipes = Pipes()
    yield pipes
    pipes.close()


async def read_all(descriptor: int) -> bytes:
    blocks: list[bytes] = []
    while block := await anyio.to_thread.run_sync(os.read, descriptor, 1 << 20):
        blocks.append(block)
    return b"".join(blocks)


async def test_lines_come_in_order_and_the_end_of_the_input_is_an_empty_batch(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target)
    os.write(pipes.feed, b"one\ntwo\nthr")
    assert await transport.batch() == [b"one", b"two"]
    os.write(pipes.feed, b"ee\n\xc3")
    assert await transport.batch() == [b"three"]
    os.write(pipes.feed, b"\xa9\nlast")
    assert await transport.batch() == ["é".encode()]
    pipes.close(pipes.feed)
    assert await transport.batch() == [b"last"]
    assert await transport.batch() == []
    assert await transport.batch() == []


async def test_bytes_read_before_the_transport_was_made_come_first(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target, received=b"one\ntw")
    os.write(pipes.feed, b"o\n")
    assert await transport.batch() == [b"one"]
    assert await transport.batch() == [b"two"]


async def test_a_line_above_the_limit_is_a_value_and_the_connection_lives(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target, max_line=8)
    os.write(pipes.feed, b"123456789")
    assert await transport.batch() == [TooLong(8)]
    os.write(pipes.feed, b"0\nshort\n")
    assert await transport.batch() == [b"short"]


async def test_a_plain_file_can_be_the_input(pipes: Pipes, tmp_path: Path) -> None:
    script = tmp_path / "frames"
    script.write_bytes(b"one\ntwo\n")
    source = os.open(script, os.O_RDONLY)
    try:
        transport = LineTransport(source, pipes.target)
        assert await transport.batch() == [b"one", b"two"]
        assert await transport.batch() == []
    finally:
        os.close(source)


async def test_a_plain_file_can_be_the_output(pipes: Pipes, tmp_path: Path) -> None:
    target = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    try:
        transport = LineTransport(pipes.source, target)
        transport.send(b"one")
        transport.send(b"two")
        transport.close()
        await transport.write()
    finally:
        os.close(target)
    assert (tmp_path / "out").read_bytes() == b"one\ntwo\n"


async def test_one_socket_can_be_both_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport = LineTransport(ours.fileno(), ours.fileno())
        theirs.sendall(b"hello\n")
        assert await transport.batch() == [b"hello"]
        transport.send(b"welcome")
        transport.close()
        await transport.write()
        assert theirs.recv(100) == b"welcome\n"


async def test_lines_from_many_tasks_are_written_whole_and_in_order_of_sending(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target)
    sent: list[bytes] = []

    async def speak(name: int) -> None:
        for number in range(200):
            line = b"%d:%d:" % (name, number) + b"x" * (number * 7)
            sent.append(line)
            transport.send(line)
            await anyio.lowlevel.checkpoint()

    async def speakers() -> None:
        async with anyio.create_task_group() as group:
            for name in range(5):
                group.start_soon(speak, name)
        transport.close()

    async with anyio.create_task_group() as group:
        group.start_soon(speakers)

        async def write() -> None:
            await transport.write()
            pipes.close(pipes.target)

        group.start_soon(write)
        received = await read_all(pipes.sink)
        assert received == b"".join(line + b"\n" for line in sent)


async def test_a_slow_reader_holds_back_those_who_drain_and_no_one_else(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target, max_waiting=100_000)
    drained = anyio.Event()

    async def drain() -> None:
        await transport.drain()
        drained.set()

    async with anyio.create_task_group() as group:
        group.start_soon(transport.write)
        for _ in range(40):
            transport.send(b"x" * 10_000)
        group.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        assert not drained.is_set()
        os.write(pipes.feed, b"still here\n")
        assert await transport.batch() == [b"still here"]
        transport.close()
        read = 0
        while read < 40 * 10_001:
            read += len(await anyio.to_thread.run_sync(os.read, pipes.sink, 1 << 20))
    assert drained.is_set()


async def test_a_reader_that_is_gone_ends_the_writer_and_frees_who_waits(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target, max_waiting=10)
    async with anyio.create_task_group() as group:
        for _ in range(200):
            transport.send(b"x" * 1000)
        group.start_soon(transport.drain)
        group.start_soon(transport.write)
        await anyio.wait_all_tasks_blocked()
        assert not transport.gone
        pipes.close(pipes.sink)
    assert transport.gone
    transport.send(b"dropped")
    await transport.drain()


@pytest.mark.parametrize("begun", [True, False], ids=["while writing", "before writing"])
async def test_a_reader_that_leaves_too_much_unread_counts_as_gone(pipes: Pipes, begun: bool) -> None:
    transport = LineTransport(pipes.source, pipes.target, max_backlog=1_000_000)
    async with anyio.create_task_group() as group:
        if begun:
            group.start_soon(transport.write)
        for _ in range(130):
            assert not transport.gone
            transport.send(b"x" * 10_000)
            await anyio.lowlevel.checkpoint()
            if transport.gone:
                break
        assert transport.gone
        await transport.drain()
        if not begun:
            await transport.write()


async def test_many_small_frames_pass_in_both_directions(pipes: Pipes) -> None:
    transport = LineTransport(pipes.source, pipes.target)
    count = 60_000

    async def feed() -> None:
        block = memoryview((SMALL_FRAME + b"\n") * count)
        await anyio.to_thread.run_sync(_write_whole, pipes.feed, block)
        pipes.close(pipes.feed)

    async def echo() -> None:
        while lines := await transport.batch():
            for line in lines:
                assert isinstance(line, bytes)
                transport.send(line)
            await transport.drain()
        transport.close()

    async def write() -> None:
        await transport.write()
        pipes.close(pipes.target)

    async with anyio.create_task_group() as group:
        for task in (feed, echo, write):
            group.start_soon(task)
        received = await read_all(pipes.sink)
        assert received == (SMALL_FRAME + b"\n") * count


def _write_whole(descriptor: int, block: memoryview) -> None:
    while block:
        block = block[os.write(descriptor, block) :]


PROGRAM = """
    import os, subprocess, sys, anyio
    print("pending in the buffer", end="")
    from hermes_core.descriptors import claim_stdio
    from hermes_core.stdio import LineTransport

    source, target = claim_stdio()
    transport = LineTransport(source, target)
    {body}
"""


def run_program(body: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    program = textwrap.dedent(PROGRAM).format(body=textwrap.dedent(body))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-c", program], input=given, capture_output=True, timeout=60, check=False, env=environment
    )


def test_prints_children_and_raw_writes_go_to_stderr_and_only_frames_to_stdout() -> None:
    """HA-068."""
    done = run_program(
        """
        print("print")
        os.write(1, b"raw\\n")
        subprocess.run(["sh", "-c", "echo child; cat"])
        async def main():
            for line in await transport.batch():
                transport.send(line.upper())
            transport.close()
            await transport.write()
        anyio.run(main)
        """,
        b"frame\nanother\n",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"FRAME\nANOTHER\n"
    for text in (b"pending in the buffer", b"print", b"raw", b"child"):
        assert text in done.stderr


def test_children_inherit_neither_end_of_the_connection() -> None:
    done = run_program(
        """
        listing = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, close_fds=False).stdout
        print("inherited", [os.get_inheritable(fd) for fd in (source, target)])
        """,
        b"",
    )
    assert b"inherited [False, False]" in done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
async def test_a_signal_to_end_is_received_by_name(name: str) -> None:
    received: list[str] = []
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            received.append(await stop_signal(interrupt=True))

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        signal.raise_signal(signal.Signals[name])
    assert received == [name]


async def test_an_interrupt_that_is_not_meant_for_us_is_swallowed() -> None:
    received: list[str] = []
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            received.append(await stop_signal(interrupt=False))

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGINT)
        await anyio.wait_all_tasks_blocked()
        assert received == []
        signal.raise_signal(signal.SIGTERM)
    assert received == ["SIGTERM"]
