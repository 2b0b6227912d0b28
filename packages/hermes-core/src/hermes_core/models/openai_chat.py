"""The provider for every endpoint that speaks OpenAI's Chat Completions, over the `openai` package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_core.errors import ProviderError
from hermes_core.models.chat_request import body_of
from hermes_core.models.openai_provider import STREAM, OpenAIProvider, refuses
from hermes_core.models.provider import ModelRequest

if TYPE_CHECKING:
    import httpx2

    from hermes_core.models.answer_stream import Reader

_USAGE = re.compile(r"stream_options|include_usage")


class OpenAIChatProvider(OpenAIProvider):
    """Calls one endpoint over Chat Completions. See OpenAIProvider for the options.

    A server that cannot stream, or not count, is asked again without, this once.
    """

    async def _send(self, request: ModelRequest) -> httpx2.Response:
        stream = usage = True
        while True:
            body = body_of(self.endpoint, request, stream=stream, usage=usage)
            answered = await self._post("/chat/completions", body, stream=stream)
            if not isinstance(answered, ProviderError):
                return answered
            if stream and usage and refuses(answered, _USAGE):
                usage = False
            elif stream and refuses(answered, STREAM):
                stream = False
            else:
                raise answered

    def _reader(self) -> Reader:
        from hermes_core.models.chat_answer import ChatAnswer

        return ChatAnswer
