"""Run inside a bare environment that holds one package and core: does it work alone, and import no more than it may?

python isolated.py PACKAGE [SCRIPT]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

HEAVY = {
    "openai",
    "aiohttp",
    "mcp",
    "jsonschema",
    "starlette",
    "hypercorn",
    "ruamel",
    "jsonrpcserver",
    "tree_sitter",
    "rich",
}
OTHERS = {"hermes_acp", "hermes_tui_gateway", "hermes_api", "hermes_cli"}


def check_import(module: str) -> None:
    """Import the package, and fail if that pulled something heavy, or another surface."""
    import_module(module)
    pulled = {name.partition(".")[0] for name in sys.modules}
    unwanted = (pulled & HEAVY) | (pulled & (OTHERS - {module}))
    if unwanted:
        raise SystemExit(f"import {module} pulls {sorted(unwanted)}")


def check_script(script: str, *arguments: str, code: int = 0) -> str:
    """Run the console script of the package, and return what it printed."""
    program = Path(sys.executable).with_name(script)
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HERMES_HOME": home}
        done = subprocess.run(
            [program, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False, cwd=home
        )
    if done.returncode != code or "Traceback" in done.stderr:
        raise SystemExit(f"{script} {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(package: str, script: str) -> None:
    """Check one package."""
    module = package.replace("-", "_")
    check_import(module)
    if not script:
        subprocess.run([sys.executable, "-c", "from run_agent import AIAgent; AIAgent().close()"], check=True)
    else:
        for arguments in (["--help"], ["--version"]):
            if not check_script(script, *arguments).strip():
                raise SystemExit(f"{script} {arguments} prints nothing")
    if script == "hermes-acp":
        # Nothing is configured here and no engine is installed: the check says so, and how to mend it.
        check_script(script, "--check", code=1)
    sys.stdout.write(f"{package}: works alone\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
