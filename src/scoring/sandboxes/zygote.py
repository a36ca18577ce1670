"""Runs programs that nobody trusts, each case in a process of its own that can reach nothing.

Needs CPython 3.9 or newer on Linux (x86-64 or arm64), no root and no package. Messages go over standard input and
output: four bytes of length (big endian), then JSON. The first message says how programs are confined:

    {"level": "namespaces" | "landlock" | "none", "missing": ["why a better level does not hold"], "open": ["what is
     open at this level"], "python": "3.11.2", "languages": {"cpp": "g++ 12.2.0"}, "absent": {"javascript": "why"}}

Then the other side sends, and waits for each answer:

    {"program": source, "memory_mb": 1024, "cpu_s": 10, "wall_s": 10, "output_bytes": 1048576}, with "language": "cpp" |
        "javascript", whose cases have only "stdin", and "key": a hash of a C++ source, which is then compiled once
        -> {"compiled": true} | {"compiled": false, "message": "..."}
    {"stdin": "text"} | {"call": "name", "args": "a JSON list"} | {"value": "expression"} | {"check": "statements"}; all but
    the first kind with "gives": "any text", which comes back with the value, and with the first bit of the length set
        -> {"ended": "ok" | "exception" | "exit" | "signal" | "time" | "memory" | "output" | "missing", "code": 0,
            "asleep": true, "cpu_s": 0.01, "wall_s": 0.01, "sizes": [7, 0, 2]}, a line break, and as many bytes of
            standard output, standard error and JSON of a list of "gives" and the encoded value
    an empty message, after which the next program may come

Three kinds of process take part. The server imports what programs use, once. For each program it forks a template,
which compiles the source. The template forks a process for each case, so that a case costs neither the start of an
interpreter nor a compilation. Only that last process runs the program. It alone reads its input, and it knows nothing
else: what a case expects never comes here.
"""

# cspell:disable
import os

# Modules ask to be told of forks, to seed random numbers anew and to mend locks. Here a process that forks has one thread and
# holds no lock, and what nobody touches after a fork need not be copied.
os.register_at_fork, register_at_fork = lambda **_: None, os.register_at_fork

import _thread
import builtins
import gc
import io
import json
import resource
import select
import signal
import sys
import threading
import time
import traceback

COMPILER_BYTES = 1 << 30
RECURSION = 600_000  # as verl's prime_code sets it
STACK = 512 << 20
# By which a template tells that the other side has gone, and that the machine was too busy to compile.
NO_MORE, TOO_BUSY = 4, 5

# The first bit of a case's length says whether a value is asked for.
MOST_BYTES = (1 << 31) - 1
KILL_SIGNAL = int(signal.SIGKILL)
# native_programs.py, and the languages of it that can be used.
native, languages = None, None
# Numbers of descriptors, out of the way of those that a case uses.
MESSAGES_IN, MESSAGES_OUT = 198, 199


def sibling(name):
    """A file beside this one, as a module that programs cannot import."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    module = type(sys)(name)
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


confining, asking, reading, watching = map(sibling, ("confinement", "case_value", "readable_files", "watched_case"))
libc, lowered, PR_SET_PDEATHSIG, RULES_FD = confining.libc, confining.lowered, confining.PR_SET_PDEATHSIG, confining.RULES_FD
EXCEPTION, NO_MEMORY, MISSING = watching.EXCEPTION, watching.NO_MEMORY, watching.MISSING
file_in_memory, write_all = watching.file_in_memory, watching.write_all
LookupMissing, encode, exit_code, value_of = asking.LookupMissing, asking.encode, asking.exit_code, asking.value_of

# --- Messages ---------------------------------------------------------------------------------------------------


def read_exactly(fd, size):
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def receive():
    """The next message, or None when the other side has gone."""
    size = receive_size()
    return size and receive_body(size)


def receive_size():
    head = read_exactly(MESSAGES_IN, 4)
    return head and int.from_bytes(head, "big")


def receive_body(size, decode=json.JSONDecoder().scan_once):
    body = read_exactly(MESSAGES_IN, size)
    return None if body is None else decode(body.decode(), 0)[0]


def send(message):
    send_parts([json.dumps(message).encode()])


def send_parts(parts):
    write_all(MESSAGES_OUT, sum(map(len, parts)).to_bytes(4, "big"))
    for part in parts:
        write_all(MESSAGES_OUT, part)


# --- A case ------------------------------------------------------------------------------------------------------


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
        module = type(sys)("__main__")
        module.__dict__.update(known_names)
        sys.modules["__main__"] = module
        self.names = module.__dict__

    def enter(self, given, out, err, res, case):
        """Turns a fork into the process of a case. Does not return."""
        enter_case(given, out, err, res, self, case)


# --- Inside the process of a case --------------------------------------------------------------------------------


def enter_case(given, out, err, res, program, case, prctl=libc.prctl):
    # Everything that is needed after the program has run is bound before it, and the program cannot reach it by name.
    leave, write, format_error, threads, exit_calls = os._exit, write_all, traceback.format_exc, _thread._count, threading
    dumps, to_encode, names, stdout, stderr = json.dumps, encode, program.names, sys.stdout, sys.stderr
    own_folder = os.path.dirname(__file__)
    asks_value, gives = res is not None, case.get("gives")
    prctl(PR_SET_PDEATHSIG, KILL_SIGNAL, 0, 0, 0)
    os.dup2(given, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    if asks_value:
        os.dup2(res, 3)
    os.closerange(4 if asks_value else 3, RULES_FD)
    os.closerange(RULES_FD + 1, 1024)
    gc.enable()
    sys.setrecursionlimit(RECURSION)
    program.confinement.enter(program.limits)
    ended = 0
    try:
        exec(program.code, names)
        if asks_value:
            write(3, dumps([gives, to_encode(value_of(case, names))]).encode())
        if threads() or exit_calls._threading_atexits:
            exit_calls._shutdown()
        stdout.flush()
    except SystemExit as stop:
        ended = exit_code(stop, stderr)
        try:
            stdout.flush()
        except BaseException:
            ended = EXCEPTION
        if asks_value and ended == 0:
            ended = EXCEPTION
    except MemoryError:
        ended = NO_MEMORY
    except LookupMissing as error:
        stderr.write(str(error))
        ended = MISSING
    except BaseException:
        try:
            stdout.flush()
            lines = format_error(limit=-8).splitlines(keepends=True)
            stderr.write("".join(line for line in lines if own_folder not in line))
        except BaseException:
            pass
        ended = EXCEPTION
    try:
        stderr.flush()
    except BaseException:
        pass
    leave(ended)


# --- The template of a program -------------------------------------------------------------------------------------


def serve_program(message, confinement, compiled):
    """Compiles a program and runs its cases until the other side ends it. Runs in a process of its own. False: there was none.

    Writes to `compiled` once it has answered: before that, the server answers if this process dies.
    """
    if message is None:
        return False
    confinement.enter_template()
    # A change of the user ends it.
    libc.prctl(PR_SET_PDEATHSIG, KILL_SIGNAL, 0, 0, 0)
    if "language" in message:
        return serve_native(message, compiled)
    _, most_memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_CPU, (10, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, lowered(resource.RLIMIT_AS, confinement.own_bytes + COMPILER_BYTES, most_memory))
    try:
        code = compile(message["program"], "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        os.write(compiled, b"x")
        send({"compiled": False, "message": f"{type(error).__name__}: {error}"[:500]})
        return True
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (most_memory, most_memory))
    os.write(compiled, b"x")
    send({"compiled": True})
    del message["program"]
    program = Program(code, message, confinement)
    gc.freeze()
    return serve_cases(program)


def serve_native(message, compiled):
    """The same for other languages than Python. Tells the key of what it compiled too."""
    try:
        program = languages.program_of(message)
    except native.DoesNotCompile as problem:
        os.write(compiled, b"x")
        send({"compiled": False, "message": str(problem)})
        return True
    os.write(compiled, b"x" + message.get("key", "").encode()[:128])
    send({"compiled": True})
    return serve_cases(program)


def serve_cases(program):
    while True:
        head = receive_size()
        if not head:
            return True
        about = watching.run_case(program, lambda: receive_body(head & MOST_BYTES), head > MOST_BYTES)
        send_parts(watching.texts_of(about, program.outputs))


def serve(confinement):
    """Forks a template for each program. Never reads a program itself: what it holds, every later program could look for."""
    waiting = select.poll()
    waiting.register(MESSAGES_IN, select.POLLIN)
    while True:
        waiting.poll()
        seen, compiled = os.pipe()
        if languages:
            languages.make_slot()
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if serve_program(receive(), confinement, compiled) else NO_MORE)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        os.close(compiled)
        _, status = os.waitpid(child, 0)
        has_answered = os.read(seen, 256)
        os.close(seen)
        if languages:
            languages.keep(has_answered[1:].decode())
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            continue
        if code == NO_MORE:
            return
        if has_answered or code > 0:
            # Not the program's fault, or the other side may wait for an answer whose place in the stream nobody knows. It
            # starts another server.
            os._exit(3)
        send({"compiled": False, "message": "the compiler did not survive the program"})


# --- Start -----------------------------------------------------------------------------------------------------------

PROBES = {
    "connects over TCP": "import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', {port}))",
    "sends over UDP": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "reads /etc/passwd": "open('/etc/passwd').read(1)",
    "writes files": "open('/tmp/reward-gateway-probe', 'w').write('x')",
    "starts processes": "import os\nif os.fork() == 0: os._exit(0)",
    "signals other processes": "import os\nos.kill(os.getppid(), 0)",
    "sees the environment": "import os\nopen('/proc/%d/environ' % os.getppid()).read(1)",
}


def run_probe(program, stdin):
    """How a program ended, and what it wrote."""
    about = watching.run_case(program, lambda: {"stdin": stdin}, False)
    texts = [bytes(one.text()).decode() for one in (program.outputs.stdout, program.outputs.stderr)]
    return {**about, "stdout": texts[0], "stderr": texts[1]}


def probe(confinement):
    """What a program can do here that it must not."""
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    limits = {"memory_mb": 256, "cpu_s": 2, "wall_s": 5, "output_bytes": 65536}

    def run(source, stdin):
        return run_probe(Program(compile(source, "probe", "exec"), limits, confinement), stdin)

    port = str(listener.getsockname()[1])
    open_doors = [name for name, source in PROBES.items() if run(source.replace("{port}", port), "")["ended"] == "ok"]
    works = run("print(int(input()) * 2)", "21")
    if works["ended"] != "ok" or works["stdout"] != "42\n":
        raise OSError(f"a program does not run when confined ({works['ended']} {works['code']}: {works['stderr'][-200:]})")
    listener.close()
    if run("import threading\nthreading.Thread(target=print).start()", "")["ended"] != "ok":
        # A kernel before 5.14, where the user has many processes elsewhere.
        confinement.counts_threads = False
    return open_doors


def open_streams():
    """Moves the messages out of the way, and makes the streams of programs, as every case finds them."""
    # Whatever else came from the process that started this one, through a wrapper of the interpreter too.
    os.closerange(3, 1 << 16)
    for name in set(os.environ) - {"PATH", "LD_BIND_NOW"}:
        del os.environ[name]
    for fd, moved in ((0, MESSAGES_IN), (1, MESSAGES_OUT)):
        os.dup2(fd, moved, inheritable=False)
    # The kinds of descriptors that a case has: what a stream can do is asked when it is made.
    given, (_, out) = os.memfd_create("stdin"), os.pipe()
    for fd, target in ((given, 0), (out, 1), (out, 2)):
        os.dup2(fd, target)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), "utf-8", "surrogateescape")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), "utf-8", "surrogateescape")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), "utf-8", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    os.closerange(3, MESSAGES_IN)
    silent = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(silent, fd)
    os.close(silent)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def load_languages(names):
    """Other languages than Python, of the file beside this one. None if none is wanted."""
    if not names:
        return None, None
    module = sibling("native_programs")
    return module, module.Languages(names)


def main():
    global native, languages
    # Whatever runs ends with the process that asked for it.
    libc.prctl(PR_SET_PDEATHSIG, KILL_SIGNAL, 0, 0, 0)
    wanted = sys.argv[1] if len(sys.argv) > 1 else "namespaces"
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if "stack" not in sys.argv and soft != resource.RLIM_INFINITY and soft < STACK:
        # The main thread's stack can grow by as much as was allowed when the interpreter started.
        lower_to = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (lower_to, hard))
        os.execv(sys.executable, [sys.executable, "-I", "-S", os.path.abspath(__file__), *sys.argv[1:], "stack"])
    threading.stack_size(8 << 20)
    native, languages = load_languages([name for name in ("cpp", "javascript") if name in sys.argv])
    open_streams()
    files = reading.ReadableFiles(languages.paths if languages else {})
    confinement, open_doors, missing = confining.confine(wanted, probe, files, (MESSAGES_IN, MESSAGES_OUT))
    versions = languages.open(confinement) if languages else {}
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.argv = ["program.py"]
    version = ".".join(map(str, sys.version_info[:3]))
    about = {"languages": versions, "absent": languages.problems if languages else {}}
    send({"level": confinement.level, "missing": missing, "open": open_doors, "python": version, **about})
    serve(confinement)


def replace_open():
    """Programs of contests read '/dev/stdin', which does not exist here."""
    plain = io.open
    standard = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

    def opened(file, *rest, **named):
        number = standard.get(file) if type(file) is str else None
        return plain(file if number is None else os.dup(number), *rest, **named)

    builtins.open = io.open = opened


if __name__ == "__main__":
    replace_open()
    known_names = asking.add_prelude()
    os.register_at_fork = register_at_fork
    main()
