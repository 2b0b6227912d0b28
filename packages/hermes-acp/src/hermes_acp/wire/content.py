"""Content blocks: what a client puts into a prompt, and what we put into chunks and tool calls."""

from __future__ import annotations

from hermes_acp.wire.shape import In, Out


class TextBlock(In, tag="text"):
    """Words."""

    text: str


class ImageBlock(In, tag="image"):
    """An image in base64."""

    data: str
    mime_type: str


class AudioBlock(In, tag="audio"):
    """A recording in base64; refused."""

    data: str
    mime_type: str


class LinkBlock(In, tag="resource_link"):
    """A file or page that the person mentioned; its content is not sent along."""

    uri: str
    name: str = ""


class EmbeddedText(In):
    """An embedded resource: `text`, or `blob` in base64."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceBlock(In, tag="resource"):
    """A file that is sent along."""

    resource: EmbeddedText


Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class TextContent(Out, tag="text"):
    """Words."""

    text: str


class ImageContent(Out, tag="image"):
    """An image in base64."""

    data: str
    mime_type: str


Content = TextContent | ImageContent
