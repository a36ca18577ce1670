"""Modules of published packages without what their reward client does not need."""

import importlib
import importlib.abc
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def published(name: str, bare: str) -> ModuleType:
    """The module `name`; the package `bare` on the way is entered without running its `__init__`."""
    if bare not in sys.modules:
        parent, _, last = bare.rpartition(".")
        spec = importlib.util.find_spec(parent)
        places = [] if spec is None else spec.submodule_search_locations or []
        package = ModuleType(bare)
        package.__path__ = [str(Path(place) / last) for place in places]
        sys.modules[bare] = package
    return importlib.import_module(name)


def absent(*names: str) -> None:
    """Packages that only other parts of a trainer need. Where they are not installed, their names stand for nothing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    sys.meta_path.append(_Absent(missing))


def empty(*names: str) -> None:
    """Modules of a trainer itself that its reward client imports and does not use."""
    for name in names:
        sys.modules[name] = _Nothing(name)


def clone(name: str) -> Path:
    """The clone in $TRAINER_CLONES. Skips the test without one."""
    found = Path(os.environ.get("TRAINER_CLONES", "")) / name
    if "TRAINER_CLONES" not in os.environ or not found.is_dir():
        pytest.skip(f"{name} is not published as a package: clone its repository into a folder named by TRAINER_CLONES")
    return found


def cloned(name: str, *, first: bool = False) -> str:
    """Makes the package of a clone importable; returns its commit. `first`: before an installed package of the same
    name."""
    found = clone(name)
    sys.path.insert(0 if first else len(sys.path), str(found))
    asked = ["git", "-C", str(found), "log", "-1", "--abbrev=7", "--format=%h of %cs"]
    told = subprocess.run(asked, capture_output=True, check=True)
    return told.stdout.decode().strip()


class _Nothing(ModuleType):
    __path__: Sequence[str] = ()
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda kind, _: kind)})


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.names else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
