"""What others build on: the public names of the core, its versions, and what the documents tell people to install."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import hermes_core
import pytest
from hermes_core.schema import schemas

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])
OUR_PACKAGES = ("hermes-core", "hermes-acp", "hermes-tui-gateway", "hermes-api", "hermes-cli")
INSTALL = re.compile(r"\b(?:pip|uv pip|pipx|uv tool) install\b[^\n`]*")


def test_the_public_names_of_the_core_are_these() -> None:
    """A name may be added; to take one away needs the range of a new year."""
    assert hermes_core.__all__ == [
        "AIAgent",
        "AnswerApprovals",
        "AnswerQuestion",
        "Config",
        "Event",
        "HermesError",
        "ImagePart",
        "Interrupt",
        "Runtime",
        "Session",
        "SetEdits",
        "SetModel",
        "SetTitle",
        "Steer",
        "Submit",
        "TextPart",
        "Tool",
        "ToolContext",
        "ToolResult",
        "load_config",
    ]
    for name in hermes_core.__all__:
        assert getattr(hermes_core, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hermes_core.no_such_name


def project(package: str) -> dict[str, Any]:
    """Return the `project` table of a package."""
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("package", [name for name in OUR_PACKAGES if name != "hermes-core"])
def test_a_surface_asks_for_a_range_of_core_that_no_stranger_can_satisfy(package: str) -> None:
    wanted = [need for need in project(package)["dependencies"] if need.startswith("hermes-")]
    assert [re.sub(r"\[[a-z,]+\]", "", need) for need in wanted] == ["hermes-core>=2026.12,<2027"]


@pytest.mark.parametrize("package", OUR_PACKAGES)
def test_a_package_has_its_own_version_readme_and_types(package: str) -> None:
    described = project(package)
    assert re.fullmatch(r"20\d\d\.\d+\.\d+", described["version"])
    folder = ROOT / "packages" / package
    assert (folder / "README.md").read_text().startswith(f"# {package}")
    assert (folder / "src" / package.replace("-", "_") / "py.typed").exists()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_never_install_a_bare_name_that_a_stranger_holds(document: Path) -> None:
    for command in INSTALL.findall(document.read_text(encoding="utf-8")):
        names_ours = any(re.search(rf"(?<![\w./-]){name}\b", command) for name in OUR_PACKAGES)
        is_ours = "--find-links" in command or re.search(r"[./]\S*hermes-", command)
        assert not names_ours or is_ours, f"{document.name}: {command}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_schema_files_are_what_the_code_says() -> None:
    assert {path.name: path.read_bytes() for path in (ROOT / "schema").glob("*.json")} == schemas()


def test_nothing_committed_reads_or_names_a_place_outside_the_repository() -> None:
    words = ("../" + "shared", "/" + "work/", "/" + "root/")
    found: list[str] = []
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.suffix not in {".py", ".md", ".toml", ".json", ".yaml", ".sh"} or parts[0].startswith("."):
            continue
        if "node_modules" in parts or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in words if word in text]
    assert found == []
