"""Runs programs that nobody trusts, each case in a process of its own that can reach nothing.

Needs CPython 3.9 or newer on Linux (x86-64 or arm64), no root and no package. Messages go over standard input and
output: four bytes of length (big endian), then JSON. The first message says how programs are confined:

    {"level": "namespaces" | "landlock" | "none", "missing": ["why a better level does not hold"], "open": ["what is
     open at this level"], "python": "3.11.2", "languages": {"cpp": "g++ 12.2.0"}, "absent": {"javascript": "why"}}

Then the other side sends, and waits for each answer:

    {"program": source, "memory_mb": 1024, "cpu_s": 10, "wall_s": 10, "output_bytes": 1048576}, with "language": "cpp" |
        "javascript", whose cases have only "stdin", and "key": a hash of a C++ source, which is then compiled once
        -> {"compiled": true} | {"compiled": false, "message": "..."}
    {"stdin": "text"} | {"call": "name", "args": "a JSON list"} | {"value": "expression"} | {"check": "statements"} |
    {"holds": "expression of _", "on": an encoded value for _, "python": "expression for expected", "setup": "statements"},
        which runs no program; all but the first kind with "gives": "any text", which comes back with the value, and with
        the first bit of the length set; with "items", iterators are given as what they hold
        -> {"ended": "ok" | "exception" | "exit" | "signal" | "time" | "memory" | "output" | "missing" | "unknown", "code": 0,
            "asleep": true, "cpu_s": 0.01, "wall_s": 0.01, "sizes": [7, 0, 2]}, a line break, and as many bytes of
            standard output, standard error and JSON of a list of "gives" and the encoded value
    an empty message, after which the next program may come

Three kinds of process take part. The server imports what programs use, once. For each program it forks a template,
which compiles the source. The template forks a process for each case, so that a case costs neither the start of an
interpreter nor a compilation. Only that last process runs the program. It alone reads its input, and it knows nothing
else: what a case expects comes only to a process that runs no program, after the one that ran it has gone.
"""

# cspell:disable
import os

# Modules ask to be told of forks, to seed random numbers anew and to mend locks. Here a process that forks has one thread and
# holds no lock, and what nobody touches after a fork need not be copied.
os.register_at_fork, register_at_fork = lambda **_: None, os.register_at_fork

import atexit
import gc
import json
import resource
import select
import signal
import sys
import threading
import time
import traceback

COMPILER_BYTES = 1 << 30
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
processing = sibling("case_process")
libc, lowered, PR_SET_PDEATHSIG = confining.libc, confining.lowered, confining.PR_SET_PDEATHSIG
file_in_memory, write_all = watching.file_in_memory, watching.write_all
Program = processing.Program

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
    # A fork that adds a name to a dict may have to copy it.
    sys.modules[asking.MODULE] = None
    processing.open_streams((MESSAGES_IN, MESSAGES_OUT))
    files = reading.ReadableFiles(languages.paths if languages else {})
    confinement, open_doors, missing = confining.confine(wanted, probe, files, (MESSAGES_IN, MESSAGES_OUT))
    versions = languages.open(confinement) if languages else {}
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.argv = ["program.py"]
    atexit._clear()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(asking.MOST_DIGITS)
    version = ".".join(map(str, sys.version_info[:3]))
    about = {"languages": versions, "absent": languages.problems if languages else {}}
    send({"level": confinement.level, "missing": missing, "open": open_doors, "python": version, **about})
    serve(confinement)


if __name__ == "__main__":
    processing.replace_open()
    known_names = asking.add_prelude()
    os.register_at_fork = register_at_fork
    main()
