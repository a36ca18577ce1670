"""What the process of a case does: it gives up what it may do, runs the program, and ends as an interpreter does.

zygote.py loads this file. Everything that is needed after the program has run is bound before it.
"""

# cspell:disable
import _thread
import atexit
import builtins
import collections
import gc
import io
import json
import os
import resource
import signal
import sys
import threading
import traceback
import weakref

zygote = sys.modules["__main__"]
confining, asking, watching = zygote.confining, zygote.asking, zygote.watching
EXCEPTION, NO_MEMORY, MISSING, UNKNOWN = watching.EXCEPTION, watching.NO_MEMORY, watching.MISSING, watching.UNKNOWN
KILL_SIGNAL = int(signal.SIGKILL)
RECURSION = 600_000  # as verl's prime_code sets it

# Files that the program opened to write to them.
written_files = []
WRITERS = io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom, io.BufferedRWPair
# A program that names one of these may make such a file without `open`.
NAMES_OF_WRITERS = "TextIOWrapper", "BufferedWriter", "BufferedRandom", "BufferedRWPair"


class Program:
    """A compiled program, with what its cases have in common."""

    # What a program writes to standard error when a signal ends it for want of memory.
    out_of_memory = ()

    def __init__(self, code, message, confinement):
        self.code = code
        self.confinement = confinement
        self.wall_s, self.cpu_s = message["wall_s"], message["cpu_s"]
        self.outputs = watching.Outputs(message["output_bytes"])
        self.limits = confinement.limits_of(message)
        source = message.pop("program", "")
        self.makes_files = any(name in source for name in NAMES_OF_WRITERS)
        module = type(sys)("__main__")
        module.__dict__.update(zygote.known_names)
        sys.modules["__main__"] = sys.modules[asking.MODULE] = module
        self.names = module.__dict__

    def enter(self, given, out, err, res, case):
        """Turns a fork into the process of a case. Does not return."""
        enter_case(given, out, err, res, self, case)


def enter_case(given, out, err, res, program, case):
    names, stdout, stderr, tools = program.names, sys.stdout, sys.stderr, TOOLS
    asks_value = res is not None
    tools.prctl(tools.death_signal, KILL_SIGNAL, 0, 0, 0)
    os.dup2(given, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    if asks_value:
        os.dup2(res, 3)
        # What stands below `if __name__ == "__main__"` is not asked for.
        names["__name__"] = asking.MODULE
    os.closerange(4 if asks_value else 3, tools.rules)
    os.closerange(tools.rules + 1, 1024)
    gc.enable()
    sys.setrecursionlimit(RECURSION)
    program.confinement.enter(program.limits)
    ended = 0
    try:
        if not asks_value:
            exec(program.code, names)
        else:
            # The program may change whatever it finds.
            gives, has_items, write, dumps, encode, value_of = case["gives"], "items" in case, *tools.for_values
            if "holds" not in case:
                exec(program.code, names)
            write(3, dumps([gives, encode(value_of(case, names), has_items)]).encode())
    except SystemExit as stop:
        ended = tools.exit_code(stop, stderr)
        if asks_value and ended == 0:
            ended = EXCEPTION
    except MemoryError:
        ended = NO_MEMORY
    except tools.missing as error:
        stderr.write(str(error))
        ended = MISSING
    except tools.unknown as error:
        stderr.write(str(error))
        ended = UNKNOWN
    except BaseException:
        try:
            lines = tools.explain(limit=-8).splitlines(keepends=True)
            stderr.write("".join(line for line in lines if tools.own_folder not in line))
        except BaseException:
            pass
        ended = EXCEPTION
    if not tools.end(tools, stdout, stderr, program.makes_files):
        ended = ended or EXCEPTION
    tools.leave(ended)


# --- The end of an interpreter --------------------------------------------------------------------------------------


def end_as_interpreter(tools, stdout, stderr, makes_files):
    """Waits for threads, calls the functions of atexit and writes what files still hold. False: something could not be written."""
    try:
        if tools.threads() or tools.threading._threading_atexits:
            tools.shutdown()
        if tools.exit_functions():
            tools.run_exit_functions()
    except BaseException:
        pass  # Python prints it, and ends as if nothing had been.
    is_whole = flush(stdout)
    if sys.stdout is not stdout:
        # Its own stream may hold what belongs to the first one's file.
        is_whole = flush(sys.stdout) and is_whole and flush(stdout)
    if makes_files or written_files:
        flush_files(tools, makes_files)
    if sys.stderr is not stderr:
        flush(sys.stderr)
    flush(stderr)
    return is_whole


def flush_files(tools, makes_files):
    try:
        files = [one() for one in written_files]
        if makes_files:
            files += [one for one in tools.objects() if isinstance(one, WRITERS)]
        for file in files:
            flush(file)
    except BaseException:
        pass


def flush(stream):
    """Writes what a stream holds. True for one that is closed, or that lost its buffer to another one."""
    try:
        stream.flush()
    except (ValueError, AttributeError):
        return True
    except BaseException:
        return False
    return True


# What is needed after the program has run. A fork copies the page of each object that it names, so what few cases need is named late.
TOOLS = {
    "prctl": confining.libc.prctl,
    "death_signal": confining.PR_SET_PDEATHSIG,
    "rules": confining.RULES_FD,
    "for_values": (watching.write_all, json.dumps, asking.encode, asking.value_of),
    "exit_code": asking.exit_code,
    "missing": asking.LookupMissing,
    "unknown": asking.NoExpected,
    "explain": traceback.format_exc,
    "own_folder": os.path.dirname(zygote.__file__),
    "end": end_as_interpreter,
    "leave": os._exit,
    "threads": _thread._count,
    "threading": threading,
    "shutdown": threading._shutdown,
    "exit_functions": atexit._ncallbacks,
    "run_exit_functions": atexit._run_exitfuncs,
    "objects": gc.get_objects,
}
TOOLS = collections.namedtuple("Tools", TOOLS)(**TOOLS)


# --- Before any program ---------------------------------------------------------------------------------------------


def open_streams(messages):
    """Moves the messages out of the way, and makes the streams of programs, as every case finds them."""
    # Whatever else came from the process that started this one, through a wrapper of the interpreter too.
    os.closerange(3, 1 << 16)
    for name in set(os.environ) - {"PATH", "LD_BIND_NOW"}:
        del os.environ[name]
    for fd, moved in enumerate(messages):
        os.dup2(fd, moved, inheritable=False)
    # The kinds of descriptors that a case has: what a stream can do is asked when it is made.
    given, (_, out) = os.memfd_create("stdin"), os.pipe()
    for fd, target in ((given, 0), (out, 1), (out, 2)):
        os.dup2(fd, target)
    sys.stdin = stream_of(io.BufferedReader(named(io.FileIO(0), "<stdin>")), "r", "surrogateescape")
    sys.stdout = stream_of(io.BufferedWriter(named(io.FileIO(1, "w"), "<stdout>")), "w", "surrogateescape")
    sys.stderr = stream_of(io.BufferedWriter(named(io.FileIO(2, "w"), "<stderr>")), "w", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.closerange(3, messages[0])
    silent = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(silent, fd)
    os.close(silent)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def named(file, name):
    file.name = name
    return file


def stream_of(buffer, mode, errors, **more):
    stream = io.TextIOWrapper(buffer, "utf-8", errors, **more)
    stream.mode = mode
    return stream


def replace_open(plain=io.open, dup=os.dup, held=written_files.append, reference=weakref.ref):
    """Programs of contests read '/dev/stdin', which does not exist here. Files that they do not close are written at the end."""
    standard = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

    def opened(file, *rest, **named):
        number = standard.get(file) if type(file) is str else None
        result = plain(file if number is None else dup(number), *rest, **named)
        if result.writable():
            held(reference(result))
        return result

    opened.__name__ = opened.__qualname__ = "open"
    opened.__module__ = "io"
    builtins.open = io.open = opened
