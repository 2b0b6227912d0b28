"""The Python that the documents show runs as it is printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import anyio
import pytest
from hermes_core.testing import ScriptedModel, answer, call

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
README = (ROOT / "packages" / "hermes-core" / "README.md").read_text(encoding="utf-8")


async def run_block(code: str, home: Path, folder: Path, *script: object) -> tuple[str, int]:
    """Run a block in a fresh interpreter with a scripted model; return what it printed and how often it asked."""
    async with ScriptedModel(script) as model:  # pyright: ignore[reportArgumentType]
        await anyio.Path(home).mkdir(exist_ok=True)
        await anyio.Path(home / "config.yaml").write_text(
            f"model: {{default: m, provider: custom, base_url: '{model.base_url}', api_key: k}}\n"
        )
        done = await anyio.run_process([sys.executable, "-c", code], cwd=folder, stderr=None, check=True)
        return done.stdout.decode(), len(model.requests)


async def test_the_ten_lines_of_the_readme_get_an_answer(hermes_home: Path, tmp_path: Path) -> None:
    printed, asked = await run_block(BLOCK.findall(README)[0], hermes_home, tmp_path, answer("Two files."))
    assert (printed, asked) == ("Two files.\n", 1)


async def test_the_asynchronous_example_of_the_readme_denies_and_prints(hermes_home: Path, tmp_path: Path) -> None:
    script = (answer(call("terminal", command="rm -rf build")), answer("I left it."))
    (tmp_path / "build").mkdir()
    printed, asked = await run_block(BLOCK.findall(README)[1], hermes_home, tmp_path, *script)
    assert "may it run 'rm -rf build'? Not today." in printed
    assert printed.endswith("I left it.")
    assert asked == 2
    assert (tmp_path / "build").exists()
