"""What a case asks of a program beside its output: names that programs expect, a value, and the value as JSON and back.

zygote.py loads this file. sandbox-fusion.ts sends it whole to a SandboxFusion server, so that both give the same values.
"""

# cspell:disable
import builtins
import collections
import datetime
import decimal
import fractions
import itertools
import json
import time

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
# Digits of an integer that programs may print, as LiveCodeBench sets it.
MOST_DIGITS = 50_000
# The module of a program that is called, which is not the main one then. Its classes are found by this name.
MODULE = "program"

# Flags of types: of those that are no part of the interpreter, and of those that cannot be changed (Python 3.10).
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8
# Items of an iterator that are read, and seconds for that.
MOST_ITEMS, MOST_SECONDS = 100_000, 1


class LookupMissing(Exception):
    pass


class NoExpected(Exception):
    """What is expected cannot be computed: a fault of the test."""


# --- What is asked ------------------------------------------------------------------------------------------------


def value_of(case, names):
    if "holds" in case:
        return holds(case, names)
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


def holds(case, names):
    """Whether an expression of `_`, a value that a program gave, is true. Runs in a process that runs no program."""
    # Programs import these two, and tests rely on it.
    names.update(Decimal=decimal.Decimal, Fraction=fractions.Fraction)
    try:
        exec(compile(case.get("setup", ""), "<setup>", "exec", dont_inherit=True), names)
        if "python" in case:
            names["expected"] = eval(compile(case["python"], "<test>", "eval", dont_inherit=True), names)
        test = compile(case["holds"], "<test>", "eval", dont_inherit=True)
    except BaseException as error:
        raise NoExpected(f"{type(error).__name__}: {error}") from error
    names["_"] = decode(case["on"])
    try:
        return bool(eval(test, names))
    except NameError as error:
        raise NoExpected(str(error)) from error


def expect_use(test, names):
    """A test whose names all come from the prelude, as `gcd` does, would pass without a program."""
    used = names_in(test)
    used = used - own_builtins or used
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


# --- Values -------------------------------------------------------------------------------------------------------


def encode(value, has_items=False, depth=0):
    """A value by its exact kind, for JSON. Contents of subclasses are read by the methods of the built-in class.

    `has_items`: iterators are read, and are their items. The docstring of case-value.ts lists what it writes.
    """
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

    def each(items):
        return [encode(one, has_items, depth + 1) for one in items]

    if list in kinds:
        return each(list.__iter__(value))
    if tuple in kinds:
        return {"tuple": each(tuple.__iter__(value))}
    if dict in kinds:
        name, items = next((DICTS[kind] for kind in DICTS if kind in kinds), ("dict", dict.items))
        return {name if has_items else "dict": [each(pair) for pair in items(value)]}
    if set in kinds:
        return {"set": each(set.__iter__(value))}
    if frozenset in kinds:
        return {"frozenset": each(frozenset.__iter__(value))}
    rare = next((kind for kind in RARE if kind in kinds), None)
    parts = rare and RARE[rare][1](value)
    if parts is not None:
        name = RARE[rare][0]
        return {name: each(parts) if name in HOLDERS else parts}
    if has_items and any("__next__" in vars(kind) for kind in kinds):
        return items_of(value, each)
    return {"other": type(value).__name__, **truth_of(value, kinds)}


def items_of(iterator, each):
    until, items = time.monotonic() + MOST_SECONDS, []
    for one in itertools.islice(iterator, MOST_ITEMS):
        items.append(one)
        if time.monotonic() > until:
            break
    else:
        if len(items) < MOST_ITEMS:
            return {"iterator": each(items)}
    return {"endless": each(items)}


def first_of(parts):
    yield from map(decode, parts)
    raise ValueError(f"only {len(parts)} items of the iterator were read")


def truth_of(value, kinds):
    """Whether an object counts as true, where no code of the program decides that."""
    flags = type(value).__flags__
    if not flags & HEAP_TYPE or flags & IMMUTABLE_TYPE:
        try:
            return {"truth": bool(value)}
        except Exception:
            return {}
    return {} if any("__bool__" in vars(kind) or "__len__" in vars(kind) for kind in kinds) else {"truth": True}


def parts_of(kind, *names):
    """Reads attributes of a class as it has them now."""
    members = [getattr(kind, name) for name in names]
    return lambda value: [int.__index__(member.__get__(value)) for member in members]


def without_zone(kind, *names):
    """The same; None for a time in a time zone."""
    zone, read = kind.tzinfo, parts_of(kind, *names)
    return lambda value: None if zone.__get__(value) is not None else read(value)


def exactly(numbers):
    """Integers of any size."""
    return [encode(one) for one in numbers]


CLOCK = "hour", "minute", "second", "microsecond"
DAY = "year", "month", "day"
fraction_parts = parts_of(fractions.Fraction, "_numerator", "_denominator")
range_parts = parts_of(range, "start", "stop", "step")
complex_parts = complex.real, complex.imag

# Dicts that a test may ask for more than any dict has.
DICTS = {
    collections.Counter: ("counter", dict.items),
    collections.OrderedDict: ("ordered", collections.OrderedDict.items),
}
KEYS, VALUES, ITEMS = type({}.keys()), type({}.values()), type({}.items())
# Of those in RARE, what holds other values.
HOLDERS = {"deque", "keys", "values", "items"}

# Class: name, how it is read, how it is made again. A class comes before those that it inherits from.
RARE = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    bytearray: ("bytearray", bytearray.hex, bytearray.fromhex),
    complex: (
        "complex",
        lambda value: [float.__repr__(part.__get__(value)) for part in complex_parts],
        lambda parts: complex(*map(float, parts)),
    ),
    decimal.Decimal: ("decimal", decimal.Decimal.__str__, decimal.Decimal),
    fractions.Fraction: ("fraction", lambda value: exactly(fraction_parts(value)), lambda parts: fractions.Fraction(*map(decode, parts))),
    range: ("range", lambda value: exactly(range_parts(value)), lambda parts: range(*map(decode, parts))),
    collections.deque: ("deque", collections.deque.__iter__, lambda parts: collections.deque(map(decode, parts))),
    KEYS: ("keys", KEYS.__iter__, lambda parts: dict.fromkeys(map(decode, parts)).keys()),
    VALUES: ("values", VALUES.__iter__, lambda parts: dict(enumerate(map(decode, parts))).values()),
    ITEMS: ("items", ITEMS.__iter__, lambda parts: dict(map(decode, parts)).items()),
    datetime.datetime: ("datetime", without_zone(datetime.datetime, *DAY, *CLOCK), lambda parts: datetime.datetime(*parts)),
    datetime.date: ("date", parts_of(datetime.date, *DAY), lambda parts: datetime.date(*parts)),
    datetime.time: ("time", without_zone(datetime.time, *CLOCK), lambda parts: datetime.time(*parts)),
    datetime.timedelta: (
        "timedelta",
        parts_of(datetime.timedelta, "days", "seconds", "microseconds"),
        lambda parts: datetime.timedelta(*parts),
    ),
}
MAKERS = {
    "int": lambda text: int(text, 16),
    "float": float,
    "tuple": lambda parts: tuple(map(decode, parts)),
    "dict": lambda pairs: {decode(key): decode(value) for key, value in pairs},
    "counter": lambda pairs: collections.Counter(MAKERS["dict"](pairs)),
    "ordered": lambda pairs: collections.OrderedDict(map(decode, pair) for pair in pairs),
    "set": lambda parts: set(map(decode, parts)),
    "frozenset": lambda parts: frozenset(map(decode, parts)),
    "iterator": lambda parts: map(decode, parts),
    "endless": first_of,
    **{name: make for name, _, make in RARE.values()},
}


def decode(value):
    """The value that `encode` wrote. An object of another class is an Unknown."""
    if isinstance(value, list):
        return [decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "other" in value:
        return Unknown(value["other"], value.get("truth"))
    ((name, parts),) = value.items()
    return MAKERS[name](parts)


class Unknown:
    """An object of a class that only the program has. It is not None; whatever else asks it gets no answer, but for its truth."""

    def __init__(self, name, truth):
        self.refusal, self.truth = f"an object of the class '{name}' decides nothing", truth

    def refuse(self, *_):
        raise TypeError(self.refusal)

    def __eq__(self, other):
        return False if other is None else self.refuse()

    def __ne__(self, other):
        return True if other is None else self.refuse()

    def __bool__(self):
        return self.refuse() if self.truth is None else self.truth

    __hash__ = object.__hash__
    __str__ = __repr__ = __format__ = refuse


# --- Names --------------------------------------------------------------------------------------------------------

own_builtins = set()


def add_prelude():
    """Names of the prelude are found as built-in names are, so that it shows what the program defines itself."""
    import _sitebuiltins

    # As an interpreter has them that was not started with -S.
    for name, value in (("exit", None), ("quit", None), ("help", _sitebuiltins._Helper())):
        setattr(builtins, name, value or _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    own_builtins.update(vars(builtins))
    names = {}
    exec(compile(PRELUDE, "prelude", "exec"), names)
    for name, value in names.items():
        if not hasattr(builtins, name):
            setattr(builtins, name, value)
    own = {"__name__": "__main__", "__doc__": None, "__package__": None, "__loader__": None, "__spec__": None}
    return {**own, "__builtins__": builtins, "__file__": "program.py"}
