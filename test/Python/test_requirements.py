"""What the project imports is asked for in requirements.txt: an environment that holds more hides what is missing."""

import ast
import importlib.metadata
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def asked_for() -> set[str]:
    """The distributions of requirements.txt and all that they need themselves."""
    waiting = [line.split("==")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    waiting = [name for name in waiting if name and not name.startswith("#")]
    found = set()
    while waiting:
        name = normalized(waiting.pop())
        if name in found:
            continue
        found.add(name)
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system
        waiting += [re.match(r"[\w.-]+", need).group() for need in needs if "extra ==" not in need]
    return found


def imported(file: Path) -> set[str]:
    """Top-level packages that `file` imports as soon as it is loaded."""
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def test_imports_are_asked_for():
    known = asked_for()
    distributions = importlib.metadata.packages_distributions()
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for folder in ("test", "bench", "python", "utils")
        for file in (ROOT / folder).rglob("*.py")
        for name in imported(file)
        if name not in sys.stdlib_module_names
        and name in distributions
        and not {normalized(distribution) for distribution in distributions[name]} & (known | {"hethub"})
    }
    # Exporters of test models run in an environment of their own: requirements-models.txt.
    missing = {line for line in missing if not line.startswith("utils/models/")}
    assert not missing
