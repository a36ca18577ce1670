"""Runs a program on a case for a SandboxFusion server, which runs this text: after case_value.py, and before a call of `run`.

The program runs in a fork. Whatever becomes of it, this process says how it ended, and ends both of its own streams with a tag that
shows that they are whole. The program may learn the tag and write what it likes; it could only lose by that.
"""

# cspell:disable
import io
import json
import os
import select
import signal
import sys
import traceback

EXCEPTION, NO_MEMORY, MISSING, NO_COMPILE, SIGNAL, OUTPUT, TOO_LONG, UNKNOWN = range(241, 249)
# The server reads some 190,000 bytes of a program that has ended, and those in a hurry: what is longer is packed.
PLAIN_BYTES, PACKED_BYTES, STDERR_BYTES = 60_000, 100_000, 4_096
RECURSION = 600_000
SUBREAPER, PDEATHSIG, DUMPABLE = 36, 1, 4


def write_all(fd, data, write=os.write):
    rest = memoryview(data)
    while rest:
        rest = rest[write(fd, rest) :]


def prctl(option, value):
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except Exception:
        pass


def run(source, case, tag, output_bytes, keeps_output):
    """`keeps_output`: standard output is compared; else a piece of it is enough."""
    names = add_prelude()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(MOST_DIGITS)
    try:
        code = compile(source, "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        finish(tag, NO_COMPILE)
    (seen, out), (heard, err) = os.pipe(), os.pipe()
    value, given = os.memfd_create("value"), os.memfd_create("stdin")
    # A program may seek in it, as it may elsewhere.
    while part := os.read(0, 1 << 20):
        write_all(given, part)
    os.lseek(given, 0, os.SEEK_SET)
    prctl(SUBREAPER, 1)
    # The program may not open this process's files, nor interrupt it.
    prctl(DUMPABLE, 0)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setsid()
        prctl(PDEATHSIG, int(signal.SIGKILL))
        prctl(DUMPABLE, 1)
        signal.signal(signal.SIGINT, interrupt)
        for fd, target in ((given, 0), (out, 1), (err, 2), (value, 3)):
            os.dup2(fd, target)
        os.closerange(4, 1024)
        file = io.FileIO(0)
        file.name = "<stdin>"
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(file), "utf-8", "surrogateescape")
        sys.stdin.mode = "r"
        run_program(code, case, names)
    os.close(out)
    os.close(err)
    printed, said, status = watch(child, seen, heard, output_bytes)
    if status is None:
        ended = OUTPUT
    elif os.WIFSIGNALED(status):
        ended = SIGNAL
    else:
        ended = os.WEXITSTATUS(status)
        # Codes that only this process may use.
        ended = 1 if NO_COMPILE <= ended < UNKNOWN else ended
    given = os.pread(value, output_bytes + 1, 0) if ended == 0 else b""
    if len(given) > output_bytes:
        ended, given = OUTPUT, b""
    finish(tag, ended, printed if keeps_output else printed[:STDERR_BYTES], said, given)


def run_program(code, case, names):
    """Runs the program, and leaves the rest to the end of the interpreter."""
    to_encode, value_of_case, explain, code_of, write, dumps = encode, value_of, traceback.format_exc, exit_code, write_all, json.dumps
    sys.argv = ["program.py"]
    sys.setrecursionlimit(RECURSION)
    module = type(sys)("__main__")
    module.__dict__.update(names)
    names = module.__dict__
    sys.modules["__main__"] = sys.modules[MODULE] = module
    if case:
        names["__name__"] = MODULE
    number = 0
    try:
        if "holds" not in case:
            exec(code, names)
        if case:
            write(3, dumps([case["gives"], to_encode(value_of_case(case, names), "items" in case)]).encode())
    except SystemExit as stop:
        number = code_of(stop, sys.stderr)
        number = EXCEPTION if case and number == 0 else number
    except MemoryError:
        number = NO_MEMORY
    except LookupMissing as error:
        sys.stderr.write(str(error))
        number = MISSING
    except NoExpected as error:
        sys.stderr.write(str(error))
        number = UNKNOWN
    except BaseException:
        try:
            sys.stderr.write(explain(limit=-8))
        except BaseException:
            pass
        number = EXCEPTION
    raise SystemExit(number)


def watch(child, seen, heard, output_bytes):
    """Reads what the program writes until it ends. Returns that, and its status; None if it wrote too much."""
    printed, said = bytearray(), bytearray()
    unread, gone, status = {seen, heard}, False, 0
    poll = select.poll()
    for fd in unread:
        poll.register(fd, select.POLLIN)
    while unread and len(printed) <= output_bytes:
        ready = poll.poll(0 if gone else 50)
        # A process that it left behind may hold the pipes.
        if gone and not ready:
            break
        for fd, _ in ready:
            part = os.read(fd, 1 << 16)
            if not part:
                poll.unregister(fd)
                unread.discard(fd)
            elif fd == seen:
                printed += part
            else:
                said += part
                del said[:-STDERR_BYTES]
        if not gone:
            pid, status = os.waitpid(child, os.WNOHANG)
            gone = pid != 0
    if len(printed) > output_bytes:
        os.kill(child, signal.SIGKILL)
        status = None
    elif not gone:
        _, status = os.waitpid(child, 0)
    return bytes(printed), bytes(said), status


def finish(tag, ended, printed=b"", said=b"", value=b""):
    """Says how the program ended. Does not return."""
    end_children()
    # A server that finds other bytes shows none of them.
    printed, said = (text.decode("utf-8", "replace").encode() for text in (printed, said))
    if ended != 0:
        printed = printed[:PLAIN_BYTES].decode("utf-8", "ignore").encode()
    mark = ""
    if len(printed) + len(value) > PLAIN_BYTES:
        mark, printed, value = "z", pack(printed), pack(value)
        if len(printed) + len(value) > PACKED_BYTES:
            ended, printed, value = TOO_LONG, b"", b""
    for fd, data in ((1, printed + f"\n{tag}{mark} ".encode() + value + b"\n"), (2, said + tag.encode())):
        write_all(fd, data)
    os._exit(ended)


def pack(data):
    import base64
    import zlib

    return base64.b64encode(zlib.compress(data))


def end_children():
    """Ends what the program left behind, which would hold the server's attention."""
    for _ in range(1000):
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                children = [int(pid) for pid in file.read().split()]
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            for pid in children:
                os.waitpid(pid, 0)
        except OSError:
            return
        if not children:
            return
