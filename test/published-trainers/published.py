"""Modules of published packages whose package `__init__` would import what their reward client does not need."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


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
