"""What the small local model is told: a prompt of its own, and how a tool call is drawn out of it.

A model of this size neither follows a long prompt nor writes a tool call of its own accord. So the words of the
request say which tools can be meant (mostly none: then there is only an answer), a JSON schema leaves it nothing but
a call of one of those, and examples show the arguments. Paths and commands that stand in the request are the only
ones the schema allows. The examples never change, so that the engine reads them once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.models.provider import ModelRequest, ToolSpec

SYSTEM = "You are a helpful AI assistant named Hermes, running on the user's own computer. Keep your answers short."
DECIDE = "Turn the request into one tool call."
MAX_OFFERED = 4
MAX_CHARS = 12_000
"""How much of a conversation is sent: about half of the context, so that an answer fits behind it."""
MAX_RESULT = 2_000
MAX_QUOTED_LINES = 20
MAX_QUOTED_LINE = 200
DECISION_TOKENS = 160
ANSWER_TOKENS = 512
MAX_TALK = 6
"""Messages that small weights are shown: more of them confuse more than they tell."""

_EXAMPLES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("What is in the current directory?", "terminal", {"command": "ls"}),
    ("List all files in /var/log", "terminal", {"command": "ls /var/log"}),
    ("Show me the file notes.md", "read_file", {"path": "notes.md"}),
    ("Execute `pwd`", "terminal", {"command": "pwd"}),
    ("Make a file todo.txt that says buy milk", "write_file", {"path": "todo.txt", "content": "buy milk"}),
    ("Find where parse_line is used", "search_files", {"pattern": "parse_line"}),
    ("Which Python version do I have?", "terminal", {"command": "python --version"}),
    ("What does src/main.c say?", "read_file", {"path": "src/main.c"}),
    ("Run git log -3", "terminal", {"command": "git log -3"}),
    ("Remove tmp.txt", "terminal", {"command": "rm tmp.txt"}),
    ("How much space is left on the disk?", "terminal", {"command": "df -h"}),
    ("Who am I?", "terminal", {"command": "whoami"}),
    ("Search for FIXME in this project", "search_files", {"pattern": "FIXME"}),
    ("Which files are in the folder docs?", "terminal", {"command": "ls docs"}),
    ("Show me what is in this folder", "terminal", {"command": "ls"}),
)

_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./-]*\w|(?:[\w.-]+/)+[\w.-]*\w|\b[\w-]+\.[A-Za-z]\w{0,7}\b")
_SPAN = re.compile(r"`([^`\n]{1,200})`")
_POLITE = r"^(?:(?:please|kindly|can you|could you|would you|now|then|ok|okay|hermes|use the terminal to)[,:]?\s+)*"
_SHELL = re.compile(
    r"(?:ls|cat|pwd|echo|git|pip|npm|df|du|whoami|uname|mkdir|rm|cp|mv|touch)(?:\s[^?]*)?|grep (?!for\b)[^?]*"
)
_RUN = re.compile(_POLITE + r"(?:run|execute)\b", re.IGNORECASE)
_ASK_SHELL = re.compile(
    r"\b(?:list|show|which|what)\b.*\b(?:files?|folders?|directory|directories)\b"
    r"|\bworking directory\b|\bgit (?:status|log|diff|branch)\b|\bdisk space\b|\bfree memory\b"
    r"|\bin (?:the|a) terminal\b"
    r"|\bmy (?:username|hostname)\b|\bcurrent (?:time|date|user|folder)\b"
    r"|" + _POLITE + r"(?:delete|remove|rename|install)\s"
    r"|" + _POLITE + r"(?:make|create)\b.*\b(?:folder|directory)\b",
    re.IGNORECASE,
)
_ASK_READ = re.compile(
    r"\b(?:read|show|open|look|view|cat|contains?|summari[sz]e|explain|says?|print|what)\b", re.IGNORECASE
)
_ASK_WRITE = re.compile(_POLITE + r"(?:write|create|make|save|put|add)\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")
_CONTENT = re.compile(
    r"\b(?:containing|saying|that says|with(?: the)?(?: text| content| contents| words?)?)\s+(.+)$"
    r"|" + _POLITE + r"(?:write|put|add|save)\s+(.+?)\s+(?:to|into|in)\b",
    re.IGNORECASE,
)
_ASK_SEARCH = re.compile(
    r"\b(?:search|find|grep|look)\b.*\b(?:in|uses?|used|code|project|files?|folder|occurrences?)\b", re.IGNORECASE
)
_ASK_CHANGE = re.compile(r"\b(?:delete|remove|erase|rename|move|install|uninstall|kill|stop)\b", re.IGNORECASE)
_HARMFUL = frozenset(
    (
        *("rm", "rmdir", "mv", "dd", "mkfs", "shred", "truncate", "chmod", "chown", "tee", ">", ">>", "|", ";", "&&"),
        *("sudo", "su", "kill", "pkill", "killall", "shutdown", "reboot", "curl", "wget"),
        *("pip", "npm", "apt", "apt-get", "brew"),
    )
)
_SEARCH_WORDS = frozenset(
    (
        *("search", "find", "grep", "look", "show", "use", "used", "uses", "occurrence", "occurrences", "containing"),
        *("file", "files", "folder", "code", "project", "text", "word", "here", "please", "me", "my", "every", "all"),
        *("a", "any", "as", "at", "be", "for", "in", "is", "of", "that", "the", "this", "through", "where", "which"),
        "with",
    )
)


class Offer(msgspec.Struct, frozen=True):
    """A tool that a request may mean. `choices` bounds an argument to texts of the request."""

    name: str
    parameters: dict[str, dict[str, Any]]


def last_request(messages: Iterable[Message]) -> str:
    """Return the text that a person asked last, if nothing has been answered or called since; else an empty text."""
    rows = [message for message in messages if not isinstance(message, NoteMessage)]
    last = rows[-1] if rows else None
    return last.text.strip() if isinstance(last, UserMessage) else ""


def offers(text: str, tools: tuple[ToolSpec, ...]) -> tuple[Offer, ...]:
    """Return the tools that a request asks for by its words, mostly none. Only tools that were offered to the model."""
    specs = {spec.name: spec for spec in tools}
    if not text or len(text) > MAX_RESULT:
        return ()
    named = tuple(spec for spec in tools if re.search(rf"\b{re.escape(spec.name)}\b", text) and "_" in spec.name)
    meant = {spec.name: _required(spec) for spec in named} | _cued(text)
    return tuple(Offer(name, fields) for name, fields in meant.items() if name in specs)[:MAX_OFFERED]


def _cued(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the built-in tools that the words speak of, each with its arguments."""
    spans = list(dict.fromkeys(_SPAN.findall(text)))
    paths = [path for path in dict.fromkeys(_PATH.findall(text)) if path.strip("./")]
    if _SHELL.fullmatch(text):
        return {"terminal": {"command": {"enum": [text]}}}
    if _RUN.search(text):
        return {"terminal": {"command": {"enum": spans} if spans else _string(200)}}
    if _ASK_SEARCH.search(text) and (words := _search_words(text)):
        return {"search_files": {"pattern": {"enum": words}}}
    if paths and _ASK_WRITE.search(text):
        wanted = _contents(text, paths)
        return {"write_file": {"path": {"enum": paths}, "content": {"enum": wanted} if wanted else _string(400)}}
    files = [path for path in paths if "." in path.rsplit("/", 1)[-1]]
    if files and _ASK_READ.search(text):
        return {"read_file": {"path": {"enum": files}}}
    if _ASK_SHELL.search(text):
        return {"terminal": {"command": {"enum": spans} if spans else _string(200)}}
    return {}


def _search_words(text: str) -> list[str]:
    """Return what can be searched for: quoted texts if there are any, else the words that are not of the asking."""
    quoted = [a or b or c for a, b, c in _QUOTED.findall(text)]
    words = (word.strip(".-:") for word in re.findall(r"[\w.:-]+", text))
    return quoted or [word for word in dict.fromkeys(words) if word and word.lower() not in _SEARCH_WORDS]


def _contents(text: str, paths: list[str]) -> list[str]:
    """Return what a file is to hold, where the request says it: in quotes, or in the place where one says it."""
    if quoted_texts := [a or b or c for a, b, c in _QUOTED.findall(text)]:
        return quoted_texts
    leading = _CONTENT.search(text)
    found = next((part for part in (leading.groups() if leading else ()) if part), "").strip(" .:")
    return [found] if found and found not in paths else []


def _string(limit: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def _required(spec: ToolSpec) -> dict[str, dict[str, Any]]:
    """Return the schemas of the arguments that a tool cannot do without."""
    properties: dict[str, dict[str, Any]] = spec.parameters.get("properties", {})
    return {name: properties.get(name, {}) for name in spec.parameters.get("required", ())}


def decision_schema(offered: tuple[Offer, ...]) -> dict[str, Any]:
    """Return the JSON Schema of one call among those offered: `{"tool": name, argument: value, ...}`."""
    calls: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"tool": {"const": offer.name}, **offer.parameters},
            "required": ["tool", *offer.parameters],
            "additionalProperties": False,
        }
        for offer in offered
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def decision_request(text: str, offered: tuple[Offer, ...], model: str) -> ModelRequest:
    """Return the call that makes the model decide: the examples, then the request, bound to the schema."""
    shown: list[Message] = []
    for asked, name, arguments in _EXAMPLES:
        shown.append(user_text(asked))
        shown.append(AssistantMessage(text=msgspec.json.encode({"tool": name, **arguments}).decode()))
    return ModelRequest(
        model=model,
        system=DECIDE,
        messages=(*shown, user_text(text)),
        max_tokens=DECISION_TOKENS,
        response_schema=decision_schema(offered),
    )


def read_decision(text: str, asked: str, offered: tuple[Offer, ...], call_id: str) -> ToolCall | None:
    """Return the call that the model decided on; None where it broke off, or made up a command that does harm.

    `asked` is the request: a program that deletes or changes things is run only if the request speaks of it.
    """
    try:
        decided = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    name = decided.pop("tool", None)
    if not any(offer.name == name for offer in offered) or _made_up(str(decided.get("command", "")), asked):
        return None
    return ToolCall(id=call_id, name=str(name), arguments=msgspec.json.encode(decided).decode())


def _made_up(command: str, asked: str) -> bool:
    """Say whether a command is one that nobody asked for: harmful, or a word said over and over."""
    words = command.split()
    if any(words.count(word) > 3 for word in words):
        return True
    return any(word in _HARMFUL and word not in asked and not _ASK_CHANGE.search(asked) for word in words)


def fresh_results(messages: tuple[Message, ...]) -> tuple[ToolMessage, ...]:
    """Return the results of tools that stand at the end of a conversation, not yet answered."""
    found: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            found.append(message)
        elif not isinstance(message, NoteMessage):
            break
    return tuple(reversed(found))


def quoted(results: tuple[ToolMessage, ...]) -> str:
    """Return results as an answer: the text itself, the first lines of it where it is long."""
    return "\n\n".join(_quotation(result.text.strip("\n").rstrip()) for result in results)


def _quotation(text: str) -> str:
    lines = text.splitlines() or ["(nothing)"]
    shown = "\n".join(line[:MAX_QUOTED_LINE] for line in lines[:MAX_QUOTED_LINES])
    more = len(lines) - MAX_QUOTED_LINES
    if len(lines) == 1:
        return shown.strip()
    fence = "````" if "```" in shown else "```"
    return f"{fence}\n{shown}\n{fence}" + (f"\n{more} more lines are left out here." if more > 0 else "")


def answer_request(request: ModelRequest, model: str, *, small: bool) -> ModelRequest:
    """Return the call for an answer in words: our small prompt, and the end of the conversation as plain text.

    Tool results become what a person could have pasted, since the model knows no other form; those that were
    answered already are left out. With `small` weights, so is every exchange that used a tool, and older talk.
    """
    messages = _talk(request.messages) if small else request.messages
    kept: list[Message] = []
    room = MAX_CHARS
    fresh = fresh_results(request.messages)
    for message in reversed([plain for row in messages for plain in _plain(row, fresh)]):
        room -= len(message.text)
        if room < 0 and kept:
            break
        kept.append(message)
    while kept and not isinstance(kept[-1], UserMessage):
        kept.pop()
    return ModelRequest(
        model=model,
        system=SYSTEM,
        messages=tuple(reversed(kept)),
        max_tokens=min(request.max_tokens or ANSWER_TOKENS, ANSWER_TOKENS),
        session_id=request.session_id,
    )


def _talk(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the last few messages of a conversation, without the exchanges that used a tool."""
    exchanges: list[list[Message]] = []
    for message in messages:
        if isinstance(message, UserMessage) or not exchanges:
            exchanges.append([])
        exchanges[-1].append(message)
    spoken = [
        exchange
        for exchange in exchanges
        if exchange is exchanges[-1] or not any(isinstance(message, ToolMessage) for message in exchange)
    ]
    return tuple(message for exchange in spoken for message in exchange)[-MAX_TALK:]


def _plain(message: Message, fresh: tuple[ToolMessage, ...]) -> list[UserMessage | AssistantMessage]:
    match message:
        case UserMessage():
            return [user_text(_cut(message.text, MAX_CHARS))]
        case AssistantMessage():
            return [AssistantMessage(text=_cut(message.text, MAX_RESULT))] if message.text.strip() else []
        case ToolMessage():
            if message not in fresh:
                return []
            shown = _cut(message.text.strip(), MAX_RESULT) or "nothing"
            return [user_text(f"The result is:\n\n{shown}\n\nTell me in one sentence what this says.")]
        case NoteMessage():
            return []


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + " ..."
