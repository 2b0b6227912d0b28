"""The providers we know: where they answer, which variables hold their keys, how they write a model's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec


class KnownProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that speaks Chat Completions. `key_env` is in order of preference; empty: no key is needed.

    `vendors`: model names are written `vendor/name`. `default_model` empty: the server is asked what it has.
    """

    name: str
    title: str
    base_url: str
    key_env: tuple[str, ...] = ()
    key_prefix: str = ""
    default_model: str = ""
    aliases: tuple[str, ...] = ()
    vendors: bool = False
    slashes: bool = False
    """Names may hold a slash that belongs to the name, so `a/b` is not read as provider `a`."""
    loopback: bool = False


PROVIDERS: tuple[KnownProvider, ...] = (
    KnownProvider(
        name="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_env=("OPENROUTER_API_KEY",),
        key_prefix="sk-or-",
        default_model="anthropic/claude-sonnet-4.6",
        vendors=True,
        slashes=True,
    ),
    KnownProvider(
        name="anthropic",
        title="Anthropic",
        base_url="https://api.anthropic.com/v1",
        key_env=("ANTHROPIC_API_KEY",),
        key_prefix="sk-ant-",
        default_model="claude-sonnet-4-6",
        aliases=("claude",),
    ),
    KnownProvider(
        name="openai",
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        key_env=("OPENAI_API_KEY",),
        key_prefix="sk-",
        default_model="gpt-5",
    ),
    KnownProvider(
        name="gemini",
        title="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_prefix="AIza",
        default_model="gemini-2.5-pro",
        aliases=("google",),
    ),
    KnownProvider(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_env=("DEEPSEEK_API_KEY",),
        default_model="deepseek-chat",
    ),
    KnownProvider(
        name="mistral",
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        key_env=("MISTRAL_API_KEY",),
        default_model="mistral-large-latest",
        aliases=("mistralai",),
    ),
    KnownProvider(
        name="xai",
        title="xAI",
        base_url="https://api.x.ai/v1",
        key_env=("XAI_API_KEY",),
        key_prefix="xai-",
        default_model="grok-4",
        aliases=("x-ai", "grok"),
    ),
    KnownProvider(
        name="groq",
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        key_env=("GROQ_API_KEY",),
        key_prefix="gsk_",
        default_model="llama-3.3-70b-versatile",
        slashes=True,
    ),
    KnownProvider(
        name="together",
        title="Together AI",
        base_url="https://api.together.xyz/v1",
        key_env=("TOGETHER_API_KEY",),
        default_model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
        slashes=True,
    ),
    KnownProvider(
        name="fireworks",
        title="Fireworks AI",
        base_url="https://api.fireworks.ai/inference/v1",
        key_env=("FIREWORKS_API_KEY",),
        key_prefix="fw_",
        default_model="accounts/fireworks/models/llama-v3p3-70b-instruct",
        slashes=True,
    ),
    KnownProvider(
        name="nous",
        title="Nous Research",
        base_url="https://inference-api.nousresearch.com/v1",
        key_env=("NOUS_API_KEY",),
        default_model="Hermes-4-405B",
        slashes=True,
    ),
    KnownProvider(name="ollama", title="Ollama", base_url="http://127.0.0.1:11434/v1", slashes=True, loopback=True),
    KnownProvider(
        name="lmstudio",
        title="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        aliases=("lm-studio",),
        slashes=True,
        loopback=True,
    ),
    KnownProvider(
        name="llamacpp",
        title="llama.cpp",
        base_url="http://127.0.0.1:8080/v1",
        aliases=("llama.cpp", "llama-cpp"),
        slashes=True,
        loopback=True,
    ),
    KnownProvider(name="vllm", title="vLLM", base_url="http://127.0.0.1:8000/v1", slashes=True, loopback=True),
)

LOCAL = "local"
CUSTOM = "custom"

_BY_NAME = {name: provider for provider in PROVIDERS for name in (provider.name, *provider.aliases)}

# How a model's name begins -> who makes it in the names of aggregators, and the maker's own provider here.
_MAKERS: tuple[tuple[str, str, str], ...] = (
    ("claude", "anthropic", "anthropic"),
    ("gpt", "openai", "openai"),
    ("chatgpt", "openai", "openai"),
    ("o1", "openai", "openai"),
    ("o3", "openai", "openai"),
    ("o4", "openai", "openai"),
    ("gemini", "google", "gemini"),
    ("gemma", "google", ""),
    ("deepseek", "deepseek", "deepseek"),
    ("mistral", "mistralai", "mistral"),
    ("ministral", "mistralai", "mistral"),
    ("magistral", "mistralai", "mistral"),
    ("codestral", "mistralai", "mistral"),
    ("devstral", "mistralai", "mistral"),
    ("grok", "x-ai", "xai"),
    ("llama", "meta-llama", ""),
    ("qwen", "qwen", ""),
    ("hermes", "nousresearch", "nous"),
    ("kimi", "moonshotai", ""),
    ("glm", "z-ai", ""),
    ("minimax", "minimax", ""),
    ("auto", "openrouter", "openrouter"),
)

# Tokens that a model reads, by how its name (without vendor) begins; the first that fits counts.
_CONTEXT: tuple[tuple[str, int], ...] = (
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("mistral", 128_000),
    ("grok-4", 256_000),
    ("llama-3.3", 131_072),
    ("hermes-4", 131_072),
)


def known(name: str) -> KnownProvider | None:
    """Return the provider of this name or alias."""
    return _BY_NAME.get(name.strip().lower())


def known_at(base_url: str) -> KnownProvider | None:
    """Return the provider whose host a base URL names; loopback servers are told apart by their port."""
    place = urlsplit(base_url).netloc.lower().replace("localhost:", "127.0.0.1:")
    return next((provider for provider in PROVIDERS if urlsplit(provider.base_url).netloc == place), None)


def key_for(provider: KnownProvider, environ: Mapping[str, str]) -> str:
    """Return the provider's key from the environment, or an empty text."""
    return next((value for name in provider.key_env if (value := environ.get(name, "").strip())), "")


def base_url_for(provider: KnownProvider, environ: Mapping[str, str]) -> str:
    """Return where the provider answers: `<NAME>_BASE_URL`, `OLLAMA_HOST` for Ollama, else its own address."""
    if given := environ.get(f"{provider.name.upper()}_BASE_URL", "").strip():
        return given
    if provider.name == "ollama" and (host := environ.get("OLLAMA_HOST", "").strip()):
        return ollama_url(host)
    return provider.base_url


def ollama_url(host: str) -> str:
    """Return the base URL that `OLLAMA_HOST` means: scheme and port may be missing, 0.0.0.0 is for listening only."""
    scheme, _, rest = host.rpartition("://")
    parts = urlsplit(f"{scheme or 'http'}://{rest}")
    try:
        port = parts.port or (443 if scheme == "https" else 11434)
    except ValueError:
        port = 11434
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in ("0.0.0.0", "::", "localhost") else name
    return f"{scheme or 'http'}://{f'[{name}]' if ':' in name else name}:{port}/v1"


def maker_of(model: str) -> str:
    """Return the provider (by name) of those who make a model; empty where it is unknown or has none of its own."""
    bare = model.rsplit("/", 1)[-1].lower()
    return next((own for start, _, own in _MAKERS if bare.startswith(start)), "")


def model_for(provider: str, model: str) -> str:
    """Return a model's name as the provider writes it, so that one name works with all of them.

    OpenRouter: `claude-sonnet-4-6` -> `anthropic/claude-sonnet-4.6`. Makers: `anthropic/claude-sonnet-4.6` ->
    `claude-sonnet-4-6`. Providers with names of their own, and unknown ones: as it is.
    """
    entry = known(provider)
    if entry is None:
        return model
    if entry.vendors:
        if "/" in model:
            return model
        vendor = next((vendor for start, vendor, _ in _MAKERS if model.lower().startswith(start)), "")
        if vendor == "anthropic":
            model = re.sub(r"(?<=-)(\d)-(\d)(?=-|:|$)", r"\1.\2", re.sub(r"-\d{8}(?=:|$)", "", model))
        return f"{vendor}/{model}" if vendor else model
    if entry.slashes:
        return model
    vendor, slash, bare = model.partition("/")
    if slash and known(vendor) is entry:
        model = bare
    return re.sub(r"(\d)\.(\d)", r"\1-\2", model) if entry.name == "anthropic" else model


def context_length_for(model: str) -> int:
    """Return how many tokens a model reads by what is known of its family; 0 = unknown."""
    bare = model.rsplit("/", 1)[-1].lower()
    return next((length for start, length in _CONTEXT if bare.startswith(start)), 0)
