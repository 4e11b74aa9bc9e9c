"""The layering of the packages, late imports, and the limits of every file.

The imports are read from the syntax tree, so that files are judged whether or not a test runs them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from vsebench.files import run_folder

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vsebench", "train_reference")
MAX_LINES = 600

SENTENCE = 3  # words
MAX_FUNCTION = 60  # lines of code of a function, without signature and docstring
BESIDE = {"arguments", "environment", "errors", "log", "memory", "options", "registry", "signature", "types"}
BESIDE |= {"__init__", "__main__", "plugins"}

# From the bottom up. A package imports what is below it, never what is beside or above it.
LAYERS: list[tuple[str, ...]] = [
    ("errors",),
    ("options", "log"),
    ("memory",),
    ("types", "registry", "environment"),
    ("signature", "numeric", "arguments", "plugins"),
    ("files", "stats"),
    ("sets",),
    ("text",),
    ("relevance",),
    ("metrics", "rank", "results"),
    ("graded", "human"),
    ("evaluation",),
    ("scenes",),
    ("unimodal", "analysis", "pretrained"),
    ("exchange",),
    ("leaderboard",),
    ("cli",),
    ("__main__",),
]
LAYER = {name: height for height, names in enumerate(LAYERS) for name in names}
# Only these may import them: (what, by whom).
ONLY_IN = [
    ("vsebench.cli", ["vsebench.cli", "vsebench.__main__"]),
    ("typer", ["vsebench.cli"]),
    ("click", ["vsebench.cli"]),
    ("rich", ["vsebench.cli", "vsebench.results.terminal"]),
    ("train_reference", ["train_reference"]),
]
# Imported inside the function that needs them, never when a module of vsebench is loaded.
LATE = [
    "PIL", "altair", "dask", "distributed", "eccv_caption", "faiss", "h5py", "huggingface_hub", "jinja2", "joblib",
    "jpype", "open_clip", "pandas", "pyarrow", "pycocoevalcap", "safetensors", "scipy", "sentence_transformers",
    "torch", "transformers", "vl_convert",
]  # fmt: skip
# Tensor code: these may import torch when they are loaded, and are themselves imported late.
TENSOR_CODE = ["vsebench.numeric.torch_support", "vsebench.rank.torch_backend"]


@dataclass(frozen=True)
class Import:
    """One imported name, absolute, and whether it is imported when the module is loaded."""

    module: str
    name: str
    at_load: bool
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.name}"


def within(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of the packages or lies below one."""
    return any(name == p or name.startswith(p + ".") for p in packages)


def sources(root: Path, packages: tuple[str, ...] = PACKAGES) -> list[tuple[str, Path]]:
    """(dotted module, file) of every Python file of the packages."""
    found = []
    for path in sorted(p for package in packages for p in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def imports_of(module: str, path: Path) -> list[Import]:
    """Every import statement of a file; relative ones made absolute."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found: list[Import] = []

    def visit(node: ast.AST, at_load: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(module, alias.name, at_load, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base if alias.name == "*" else f"{base}.{alias.name}" for alias in node.names]
            found.extend(Import(module, name, at_load, node.lineno) for name in names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, False)
            for child in node.orelse:
                visit(child, at_load)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for child in ast.iter_child_nodes(node):
                visit(child, at_load and not inside)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


def package_of(name: str) -> str:
    """The package of a dotted name (or the module beside the packages): ``files`` of ``vsebench.files.read``."""
    return [*name.split("."), ""][1]


def violations(root: Path) -> Iterator[str]:
    """One sentence for every import that the layering forbids."""
    for module, path in sources(root):
        for imported in imports_of(module, path):
            name = imported.name
            ours, theirs = package_of(module), package_of(name)
            if within(module, "vsebench") and within(name, "vsebench") and ours and theirs in LAYER and ours != theirs:
                if ours not in LAYER:
                    yield f"{imported}: '{ours}' is in no layer"
                elif LAYER[theirs] >= LAYER[ours]:
                    yield f"{imported}: {ours} is below or beside {theirs}"
            for what, by in ONLY_IN:
                if within(name, what) and not within(module, *by):
                    yield f"{imported}: only {' and '.join(by)} may"
            late = [*TENSOR_CODE, *LATE] if not within(module, *TENSOR_CODE) else set(LATE) - {"torch"}
            if within(module, "vsebench") and imported.at_load and within(name, *late):
                yield f"{imported} when it is loaded: import it inside the function that needs it"
            if within(module, "train_reference") and within(name, "vsebench") and "._" in name:
                yield f"{imported}: train_reference uses public names of vsebench only"


def cycles(root: Path) -> list[list[str]]:
    """Modules of vsebench that import each other in a circle, at any time (strongly connected components)."""
    modules = {module for module, _ in sources(root, ("vsebench",))}

    def module_of(name: str) -> str:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        return name

    edges = {
        module: {module_of(i.name) for i in imports_of(module, path)} - {module, "", "vsebench"}
        for module, path in sources(root, ("vsebench",))
    }
    reached: dict[str, set[str]] = {}
    for start in edges:
        seen, waiting = set[str](), list(edges[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += edges.get(module, ())
        reached[start] = seen
    circles = {tuple(sorted(b for b in reached[a] if a in reached.get(b, ()))) for a in edges if a in reached[a]}
    return [list(circle) for circle in sorted(circles)]


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body of a function, without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def public_definitions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes of a file, and the public methods of those classes."""
    stack: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            decorators = {ast.unparse(d).split(".")[-1] for d in node.decorator_list}
            if node.name.startswith("_") or decorators & {"overload", "setter"}:
                continue
            yield node
            if isinstance(node, ast.ClassDef):
                stack.append(node)


def test_layers_are_kept():
    assert list(violations(ROOT)) == []


def test_the_overview_names_the_packages_in_the_order_of_the_layers():
    import vsebench

    packages = [name for names in LAYERS for name in names if (ROOT / "vsebench" / name).is_dir()]
    named = re.findall(r"``(\w+)``: ", vsebench.__doc__.split("from the bottom up")[1])
    assert sorted(named) == sorted(packages)
    assert [LAYER[name] for name in named] == sorted(LAYER[name] for name in named)


def test_no_import_cycles():
    assert cycles(ROOT) == []


def test_a_cycle_is_caught(tmp_path):
    package = tmp_path / "vsebench" / "text"
    package.mkdir(parents=True)
    (package / "a.py").write_text("from . import b\n")
    (package / "b.py").write_text("def f():\n    from .c import x\n")
    (package / "c.py").write_text("from vsebench.text.a import y\n")
    (package / "d.py").write_text("from . import a\n")
    assert cycles(tmp_path) == [["vsebench.text.a", "vsebench.text.b", "vsebench.text.c"]]


def test_only_the_basics_stand_beside_the_packages():
    found = {p.name for p in (ROOT / "vsebench").iterdir() if p.name != "__pycache__"}
    packages = {p.name for p in (ROOT / "vsebench").iterdir() if (p / "__init__.py").exists()}
    assert found - packages == {f"{name}.py" for name in BESIDE} | {"py.typed"}
    assert packages | (BESIDE - {"__init__"}) == set(LAYER)


def test_every_package_describes_itself():
    short = [
        module
        for module, path in sources(ROOT, ("vsebench",))
        if path.name == "__init__.py" and len((ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()) < 3
    ]
    assert short == []


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("vsebench/errors.py", "from .types import Split", "errors is below or beside types"),
        ("vsebench/registry.py", "import vsebench.types", "registry is below or beside types"),
        ("vsebench/metrics/recall.py", "from ..rank.kernels import ranks", "metrics is below or beside rank"),
        ("vsebench/metrics/a/b.py", "def f():\n    from ...graded import plan", "metrics is below or beside graded"),
        ("vsebench/results/json.py", "if TYPE_CHECKING:\n    from ..rank import x", "results is below or beside rank"),
        ("vsebench/other/npz.py", "from ..errors import BadInput", "'other' is in no layer"),
        ("vsebench/evaluate.py", "import train_reference", "only train_reference may"),
        ("vsebench/results/html.py", "import rich.table", "only vsebench.cli and vsebench.results"),
        ("vsebench/files/npz.py", "def f():\n    import typer", "only vsebench.cli may"),
        ("vsebench/rank/gpu.py", "import torch.nn as nn", "import it inside the function"),
        ("vsebench/rank/torch_backend/scan.py", "import faiss", "import it inside"),
        ("vsebench/rank/gpu.py", "from .torch_backend.scan import scan", "import it inside"),
        ("vsebench/rank/gpu.py", "try:\n    import torch\nexcept ImportError:\n    pass", "import it inside"),
        ("vsebench/cli/x.py", "class A:\n    from scipy.stats import kendalltau", "import it inside"),
        ("train_reference/train.py", "from vsebench.types import _refuse", "public names of vsebench only"),
    ],
)
def test_a_forbidden_import_is_caught(tmp_path, file, line, message):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n", encoding="utf-8")
    assert [v for v in violations(tmp_path) if message in v], f"'{line}' in {file} went unnoticed"


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("vsebench/types.py", "from .errors import BadInput"),
        ("vsebench/metrics/recall.py", "from ..types import Ranks\nfrom .declare import metric"),
        ("vsebench/analysis/a.py", "from ..evaluation import run\nfrom .. import __version__"),
        ("vsebench/relevance/eccv.py", "from ..files import coco\ndef f():\n    import eccv_caption"),
        ("vsebench/rank/kernels.py", "import numba\nif TYPE_CHECKING:\n    import torch"),
        ("vsebench/rank/torch_backend/scan.py", "import torch\nfrom .settings import exact"),
        ("vsebench/results/terminal.py", "from rich.table import Table"),
        ("vsebench/files/torchvision_like.py", "from .torch import x"),
        ("train_reference/model.py", "import torch\nfrom vsebench.errors import UsageError"),
    ],
)
def test_an_allowed_import_is_left_alone(tmp_path, file, line):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n", encoding="utf-8")
    assert list(violations(tmp_path)) == []


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a fresh interpreter, from the root of the checkout."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_importing_vsebench_is_light():
    heavy = ["torch", "faiss", "pandas", "scipy", "numba", "typer", "rich"]
    done = run(f"import sys, vsebench\nprint([m for m in {heavy} if m in sys.modules])")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_help_is_light():
    heavy = ["numpy", "torch", "faiss", "pandas", "scipy", "numba", "pyarrow", "h5py"]
    done = run(
        "import sys\nfrom vsebench.cli import main\nsys.argv = ['vsebench', '--help']\ncode = None\n"
        "try:\n    code = main()\nexcept SystemExit as end:\n    code = end.code\n"
        f"print('loaded', code or 0, [m for m in {heavy} if m in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert "eval" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded 0 []"


def test_everything_public_has_a_docstring():
    missing = [
        f"{module}:{node.lineno} {node.name}"
        for module, path in sources(ROOT)
        if not any(part.startswith("_") and part != "__main__" for part in module.split("."))
        for node in public_definitions(path)
        if not ast.get_docstring(node)
    ]
    assert missing == []


def test_every_module_says_what_it_is():
    texts = {module: path.read_text(encoding="utf-8") for module, path in sources(ROOT)}
    assert [m for m, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def test_files_stay_small():
    folders = (*PACKAGES, "tests", "benchmarks")
    sizes = {m: len(p.read_text(encoding="utf-8").splitlines()) for m, p in sources(ROOT, folders)}
    assert {m: n for m, n in sizes.items() if n > MAX_LINES} == {}


def test_functions_stay_short():
    long = [
        f"{module}:{node.lineno} {node.name}: {code_lines(node)} lines"
        for module, path in sources(ROOT, (*PACKAGES, "benchmarks"))
        if "kernels" not in module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and code_lines(node) > MAX_FUNCTION
    ]
    assert long == []


def words_of(node: ast.expr) -> int:
    """How many words of two letters or more a literal text has; fields of an f-string are none."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return sum(bool(re.search("[A-Za-z]{2}", word)) for word in "".join(texts).split())


def test_sentences_stand_in_the_stored_messages():
    """Elsewhere a test asserts the class and the named value, and hands the error to the fixture ``pinned``."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            literals: list[ast.expr] = []
            if isinstance(node, ast.Call):
                literals = [k.value for k in node.keywords if k.arg == "match"]
            elif isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                literals = sides if any(re.search(r"stderr|\berr\b", ast.unparse(s)) for s in sides) else []
            found += [f"{path.relative_to(ROOT)}:{n.lineno}" for n in literals if words_of(n) >= SENTENCE]
    assert not found, f"sentences of messages; use the fixture pinned of tests/conftest.py: {', '.join(found)}"


def test_nothing_is_left_for_later():
    words = ("TODO", "FIXME", "raise NotImplementedError")  # catching one of the standard library is fine
    found = [
        f"{module}:{number} {word}"
        for module, path in sources(ROOT)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in words
        if word in line
    ]
    assert found == []


def test_vsebench_prints_only_from_the_command_line():
    prints = [
        f"{module}:{node.lineno}"
        for module, path in sources(ROOT, ("vsebench",))
        if not within(module, "vsebench.cli")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


def test_names_of_the_files_of_a_run_are_declared_once():
    """The trainer writes them and vsebench reads them: they stand in one file, which the trainer imports."""
    declared = Path(run_folder.__file__).resolve()
    names = {f'"{name}"' for name in (run_folder.ABOUT, run_folder.LAST, run_folder.RESULT, run_folder.SUMMARY)}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            again = sorted(name for name in names if name in path.read_text(encoding="utf-8"))
            assert path == declared or not again, f"{path.name} has {again}"


def test_numba_is_imported_in_one_place():
    """Elsewhere a cache that cannot be written would end the command, see ``numeric.compiled``."""
    found = [
        module
        for module, path in sources(ROOT, ("vsebench",))
        if any(line.strip().startswith(("import numba", "from numba")) for line in path.read_text("utf-8").splitlines())
    ]
    assert found == ["vsebench.numeric.compiled"]


def test_inner_compiled_functions_are_called_by_compiled_ones():
    """They have no wrapper for calls from Python, which would end the process, see ``numeric.compiled``."""
    wrong = []
    for module, path in sources(ROOT, (*PACKAGES, "tests", "benchmarks")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        compiled = [f for f in functions if any("njit" in ast.unparse(d) for d in f.decorator_list)]
        inner = {f.name for f in compiled if f.name.startswith("_")}
        calls = {id(node) for f in compiled for node in ast.walk(f)}
        wrong += [
            f"{module}:{node.lineno} calls {node.func.id}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if node.func.id in inner and id(node) not in calls
        ]
        wrong += [
            f"{module}:{node.lineno} imports {alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("kernels")
            for alias in node.names
            if alias.name.startswith("_")
        ]
    assert wrong == []


def of_docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            yield ast.get_docstring(node) or ""


def resolves(parts: list[str], folder: Path) -> bool:
    """Whether dotted names lead from a folder to a module, or to one and a name that it has."""
    while parts and (folder / parts[0]).is_dir():
        folder, parts = folder / parts[0], parts[1:]
    module = folder / f"{parts[0]}.py" if parts else folder
    if not parts or (module.exists() and len(parts) == 1):
        return True
    name = parts[1] if module.exists() else parts[0]
    file = module if module.exists() else folder / "__init__.py"
    return file.exists() and re.search(rf"\b{re.escape(name)}\b", file.read_text()) is not None


def test_dotted_references_of_docstrings_resolve() -> None:
    """``package.module.name`` whose first part is a module of ours, from the package of the file or one above it."""
    dangling = []
    for path in sorted((ROOT / "vsebench").rglob("*.py")):
        folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "vsebench")]
        for found in re.findall(r"``([a-z_]\w*(?:\.\w+)+)``", "\n".join(of_docstrings(path))):
            parts = found.split(".")
            own = [f for f in folders if (f / parts[0]).is_dir() or (f / f"{parts[0]}.py").exists()]
            if own and parts[-1] not in ("csv", "jsonl", "npy") and not any(resolves(parts, f) for f in own):
                dangling.append(f"{path.relative_to(ROOT)}: {found}")
    assert dangling == []


def test_modules_that_a_package_lists_are_there() -> None:
    dangling = []
    for path in sorted((ROOT / "vsebench").rglob("__init__.py")):
        docstring = next(of_docstrings(path))
        for names in re.findall(r"^- ((?:``\w+``(?:, | and )?)+):", docstring, re.M):
            code = path.read_text().replace(docstring, "")
            for name in re.findall(r"\w+", names.replace(" and ", " ")):
                there = (path.parent / name).is_dir() or (path.parent / f"{name}.py").exists()
                if not there and not re.search(rf"\b{name}\b", code):
                    dangling.append(f"{path.relative_to(ROOT)}: {name}")
    assert dangling == []
