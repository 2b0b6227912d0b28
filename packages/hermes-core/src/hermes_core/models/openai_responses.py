"""The provider for endpoints that speak OpenAI's Responses API, over the `openai` package.

Nothing is kept at the service: each call carries the whole transcript, as with Chat Completions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_core.errors import ProviderError
from hermes_core.models.openai_provider import STREAM, OpenAIProvider, refuses
from hermes_core.models.provider import ModelRequest
from hermes_core.models.responses_request import responses_body

if TYPE_CHECKING:
    import httpx2

    from hermes_core.models.answer_stream import Reader

_SUMMARY = re.compile(r"summar(y|ies)", re.IGNORECASE)


class OpenAIResponsesProvider(OpenAIProvider):
    """Calls one endpoint over the Responses API. See OpenAIProvider for the options.

    A server that cannot stream, or tells nobody's reasoning to this account, is asked again without, this once.
    """

    async def _send(self, request: ModelRequest) -> httpx2.Response:
        stream = summary = True
        while True:
            body = responses_body(self.endpoint, request, stream=stream, summary=summary)
            answered = await self._post("/responses", body, stream=stream)
            if not isinstance(answered, ProviderError):
                return answered
            if summary and request.reasoning_effort and refuses(answered, _SUMMARY):
                summary = False
            elif stream and refuses(answered, STREAM):
                stream = False
            else:
                raise answered

    def _reader(self) -> Reader:
        from hermes_core.models.responses_answer import ResponsesAnswer

        return ResponsesAnswer
