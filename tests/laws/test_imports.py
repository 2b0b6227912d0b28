"""The laws of the house that can be read off the imports: which way arrows point, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = {"hermes_core", "run_agent"}
TRANSPORTS = {"hermes_acp", "hermes_tui_gateway", "hermes_api"}
HEAVY = {
    "openai",
    "aiohttp",
    "mcp",
    "jsonschema",
    "jsonrpcserver",
    "pydantic",
    "starlette",
    "hypercorn",
    "ruamel",
    "tree_sitter",
    "textual",
    "rich",
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of every package: its name and its file."""
    for source in sorted(ROOT.glob("packages/*/src")):
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(module: str, path: Path) -> set[str]:
    """Every module that is named in an import statement anywhere in the file, type checking included."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def test_arrows_point_to_the_core_only() -> None:
    breaches: list[str] = []
    for module, path in modules():
        home = module.partition(".")[0]
        allowed = CORE | {home}
        reached = {name.partition(".")[0] for name in imported(module, path)}
        breaches += [
            f"{module} -> {other}" for other in sorted(reached & (CORE | TRANSPORTS | {"hermes_cli"}) - allowed)
        ]
    assert breaches == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = dict(modules())
    graph = {
        module: {n for n in imported(module, path) if n in known and n != module} for module, path in known.items()
    }
    for package in [name for name, path in known.items() if path.name == "__init__.py"]:
        # A package that only hands names on is a door, not a room: what it names may import its neighbours.
        graph[package] = set()
    settled: set[str] = set()

    def circle_from(module: str, path: tuple[str, ...]) -> tuple[str, ...]:
        if module in path:
            return (*path[path.index(module) :], module)
        if module in settled:
            return ()
        for other in sorted(graph[module]):
            if found := circle_from(other, (*path, module)):
                return found
        settled.add(module)
        return ()

    assert [circle for module in sorted(graph) if (circle := circle_from(module, ()))] == []


@pytest.mark.parametrize("package", sorted(TRANSPORTS | CORE | {"hermes_cli"}))
def test_importing_a_package_is_free(package: str) -> None:
    """HOUSE law 8: no thread, no heavy library."""
    code = f"import sys, threading, {package}; print(threading.active_count(), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    threads, *loaded = done.stdout.split()
    assert int(threads) == 1
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


def test_every_room_is_small() -> None:
    big = [f"{module}: {count}" for module, path in modules() if (count := len(path.read_text().splitlines())) > 400]
    assert big == []
