"""What a case asks of a program beside its output: names that programs expect, a value, and the value as JSON.

zygote.py loads this file. sandbox-fusion.ts sends it whole to a SandboxFusion server, so that both give the same values.
"""

# cspell:disable
import builtins
import json

# What programs of the published data sets use without importing it (verl, LiveCodeBench).
PRELUDE = """
from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from builtins import *
from typing import *
import string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools, functools
import operator, io, sys, json, typing, decimal, fractions, queue, string, array, cmath, enum, dataclasses, time
"""


# Flags of types: of those that are no part of the interpreter, and of those that cannot be changed (Python 3.10).
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8


class LookupMissing(Exception):
    pass


def value_of(case, names):
    if "check" in case:
        test = compile(case["check"], "<test>", "exec")
        expect_use(test, names)
        exec(test, names)
        return None
    if "value" in case:
        test = compile(case["value"], "<test>", "eval")
        if "alone" not in case:
            expect_use(test, names)
        return eval(test, names)
    name = case["call"]
    solution = names.get("Solution")
    found = getattr(solution(), name, None) if isinstance(solution, type) and hasattr(solution, name) else names.get(name)
    if not callable(found):
        raise LookupMissing(f"the program defines no function '{name}'")
    return found(*json.loads(case["args"]))


def expect_use(test, names):
    """A test whose names all come from the prelude, as `gcd` does, would pass without a program."""
    used = names_in(test)
    if used and not any(name in names for name in used):
        raise LookupMissing(f"the program defines none of {', '.join(sorted(used))}")


def names_in(code):
    inner = [one for one in code.co_consts if isinstance(one, type(code))]
    return set(code.co_names).union(*map(names_in, inner))


def exit_code(stop, stderr):
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    stderr.write(str(code))
    return 1


def encode(value, depth=0):
    """A value by its exact kind, for JSON. Contents of subclasses are read by the methods of the built-in class."""
    if value is None or value is True or value is False:
        return value
    kinds = type(value).__mro__
    if depth > 200:
        return {"other": "nested too deeply"}
    if str in kinds:
        return str.__str__(value) if type(value) is str else str.__getitem__(value, slice(None))
    if int in kinds:
        number = int.__index__(value)
        return number if -(2**53) < number < 2**53 else {"int": hex(number)}
    if float in kinds:
        return {"float": float.__repr__(value)}
    if list in kinds:
        return [encode(one, depth + 1) for one in list.__iter__(value)]
    if tuple in kinds:
        return {"tuple": [encode(one, depth + 1) for one in tuple.__iter__(value)]}
    if dict in kinds:
        return {"dict": [[encode(key, depth + 1), encode(one, depth + 1)] for key, one in dict.items(value)]}
    if set in kinds:
        return {"set": [encode(one, depth + 1) for one in set.__iter__(value)]}
    if frozenset in kinds:
        return {"set": [encode(one, depth + 1) for one in frozenset.__iter__(value)]}
    return {"other": type(value).__name__, **truth_of(value, kinds)}


def truth_of(value, kinds):
    """Whether an object counts as true, where no code of the program decides that."""
    flags = type(value).__flags__
    if not flags & HEAP_TYPE or flags & IMMUTABLE_TYPE:
        try:
            return {"truth": bool(value)}
        except Exception:
            return {}
    return {} if any("__bool__" in vars(kind) or "__len__" in vars(kind) for kind in kinds) else {"truth": True}


def add_prelude():
    """Names of the prelude are found as built-in names are, so that it shows what the program defines itself."""
    names = {}
    exec(compile(PRELUDE, "prelude", "exec"), names)
    for name, value in names.items():
        if not hasattr(builtins, name):
            setattr(builtins, name, value)
    return {"__name__": "__main__", "__doc__": None, "__package__": None}
