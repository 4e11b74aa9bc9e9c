"""Late imports, and the limits of every file; the layers of the packages are in ``pyproject.toml``."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import vsebench
from vsebench import files
from vsebench.files import regular

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vsebench", "train_reference")
MAX_LINES = 600

SENTENCE = 3  # words
MAX_FUNCTION = 60  # lines of code of a function, without signature and docstring
BESIDE = {"environment", "errors", "log", "memory", "options", "signature", "types", "arrays"}
BESIDE |= {"__init__", "__main__", "plugins"}

# Imported inside the function that needs them, never when a module of vsebench is loaded.
LATE = [
    "PIL", "altair", "dask", "distributed", "eccv_caption", "faiss", "h5py", "huggingface_hub", "jinja2", "joblib",
    "jpype", "open_clip", "pandas", "pyarrow", "pycocoevalcap", "safetensors", "sentence_transformers",
    "torch", "transformers", "vl_convert",
]  # fmt: skip
# They import torch when they are loaded, and are imported late.
TENSOR_CODE = ("vsebench.numeric.torch_support", "vsebench.rank.torch_backend")


def sources(root: Path, packages: tuple[str, ...] = PACKAGES) -> list[tuple[str, Path]]:
    """(dotted module, file) of every Python file of the packages."""
    found = []
    for path in sorted(p for package in packages for p in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


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


def test_the_overview_names_the_packages_in_the_order_of_the_layers():
    layers = re.search(r'containers = \["vsebench"\].*?layers = \[(.*?)\]', (ROOT / "pyproject.toml").read_text(), re.S)
    order = [re.findall(r"\w+", line) for line in reversed(layers[1].split(","))]
    height = {name: n for n, names in enumerate(order) for name in names}
    named = re.findall(r"``(\w+)``: ", vsebench.__doc__.split("from the bottom up")[1])
    assert sorted(named) == [name for name in sorted(height) if (ROOT / "vsebench" / name).is_dir()]
    assert [height[name] for name in named] == sorted(height[name] for name in named)


def test_only_the_basics_stand_beside_the_packages():
    found = {p.name for p in (ROOT / "vsebench").iterdir() if p.name != "__pycache__"}
    packages = {p.name for p in (ROOT / "vsebench").iterdir() if (p / "__init__.py").exists()}
    assert found - packages == {f"{name}.py" for name in BESIDE} | {"py.typed"}


def test_every_package_describes_itself():
    short = [
        module
        for module, path in sources(ROOT, ("vsebench",))
        if path.name == "__init__.py" and len((ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()) < 3
    ]
    assert short == []


# What is loaded after every step, each of which loads more.
STEPS = (
    ("import vsebench", "torch faiss pandas scipy numba click rich"),
    ("sys.argv = ['vsebench', '--help']; main()", "numpy torch faiss pandas scipy numba pyarrow h5py"),
    ("from vsebench.sets import catalogue; catalogue.status()", "numba"),  # only a build of scenes compiles
    ("for name in MODULES: importlib.import_module(name)", " ".join(LATE)),
    ("x = numpy.eye(3)\n"
     "vsebench.evaluate(x.tolist(), x, captions_per_image=1, metrics='R@1', gains=x, trust=True, ci=0)", "torch"),
)  # fmt: skip
STEP = """
import contextlib, importlib, io, json, sys
found, steps, modules = [], json.loads(sys.argv[1]), sys.argv[2]
for step, heavy in steps:
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        if "main" in step:
            from vsebench.cli import main
        if "numpy" in step:
            import numpy, vsebench
        exec(step.replace("MODULES", modules), globals())
    found.append([shown.getvalue(), [m for m in heavy.split() if m in sys.modules]])
print(json.dumps(found))
"""


# What the trainer imports of vsebench: what it needs is public, so that it can be copied.
OF_TRAINER = {"vsebench.errors": None, "vsebench.files": set(files.__all__), "vsebench.relevance": {"load_gains"}}


def test_the_trainer_imports_public_names_only():
    for module, path in sources(ROOT, ("train_reference",)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named = [(name.name, name.asname) for name in node.names if name.name.startswith("vsebench")]
                assert named in ([], [("vsebench", "vb")]), f"{module}: {named}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "vb":
                assert node.attr in vsebench.__all__, f"{module}: vb.{node.attr}"
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("vsebench"):
                known = OF_TRAINER.get(str(node.module), set())
                assert known is None or {name.name for name in node.names} <= known, f"{module}: {ast.unparse(node)}"


def test_the_trainer_has_no_circle_of_imports():
    graph: dict[str, set[str]] = {}
    for module, path in sources(ROOT, ("train_reference",)):
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [node.module])]
                )
                graph.setdefault(module, set()).update(
                    [base] if node.module else [f"{base}.{n.name}" for n in node.names]
                )
    losses = {name for name in graph if name.startswith("train_reference.losses.")}
    graph = {name: {x for x in of if name not in losses or x != "train_reference.losses"} for name, of in graph.items()}
    assert len(tuple(graphlib.TopologicalSorter(graph).static_order())) > 10  # raises CycleError


def test_imports_are_late():
    """Of ``import vsebench``, of help, of lists of test sets, of every module, and of an evaluation of arrays."""
    modules = [m for m, _ in sources(ROOT, ("vsebench",)) if not m.startswith(TENSOR_CODE) and "__main__" not in m]
    program = [sys.executable, "-c", STEP, json.dumps(STEPS), repr(modules)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [loaded for _, loaded in found] == [[]] * len(STEPS)
    assert "eval" in found[1][0]


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


def test_the_leaderboards_use_public_names_alone():
    """So that a change of the core does not touch them."""
    for _, path in sources(ROOT, ("leaderboards",)):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
        modules |= {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
        assert {m for m in modules if m.startswith("vsebench")} <= {"vsebench", "vsebench.errors", "vsebench.signature"}
        names = {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "vb"}
        assert names <= set(vsebench.__all__)


def test_files_stay_small():
    folders = (*PACKAGES, "tests", "benchmarks", "leaderboards", "studies", "tools")
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
        if not module.startswith("vsebench.cli")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


def test_names_of_the_files_of_a_run_are_declared_once():
    """In vsebench they stand in one file; the trainer, which imports public names only, writes them."""
    declared = Path(regular.__file__).resolve()
    names = {f'"{name}"' for name in (regular.RUN_FILE, regular.LAST_CHECKPOINT, regular.RESULT_FILE)}
    for package in ("vsebench",):  # the trainer, which only has public names, has its own
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
