"""A case is run in a fork of a template, which watches it until it ends or breaks a limit. zygote.py loads this file.

The fork reads its case itself, and what it writes lies in memory that forks do not get. So the memory of a program holds
nothing of the cases that ran before it.
"""

# cspell:disable
import fcntl
import json
import mmap
import os
import select
import signal
import time

STDERR_KEPT = 4_096
PIECE = 1 << 16
WIPE_ON_FORK = 18  # of madvise; Linux 4.14
THREADS_COUNTED_S = 0.02

# Exit codes by which a case tells how it ended. A program can end with them too, which makes it fail by another name.
EXCEPTION, NO_MEMORY, MISSING, UNKNOWN = 241, 242, 243, 244
ENDS = {0: "ok", EXCEPTION: "exception", NO_MEMORY: "memory", MISSING: "missing", UNKNOWN: "unknown"}


class Lost(Exception):
    """A fork ended before it had read its case."""


class Written:
    """What a case writes to one descriptor: the beginning of it, or of standard error its end."""

    def __init__(self, most, is_tail=False):
        self.most, self.is_tail, self.size = most, is_tail, 0
        self.memory = mmap.mmap(-1, most + PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.memory.madvise(WIPE_ON_FORK)
        self.view = memoryview(self.memory)

    def read(self, fd):
        """Reads a piece. False at the end."""
        count = os.readv(fd, [self.view[self.size : self.size + PIECE]])
        self.size += count
        if self.is_tail and self.size > self.most:
            self.memory.move(0, self.size - self.most, self.most)
            self.size = self.most
        return count > 0

    def text(self):
        return self.view[: min(self.size, self.most)]

    def put(self, text):
        self.view[: len(text)] = text
        self.size = len(text)

    def has(self, mark):
        return self.memory.find(mark, 0, self.size) >= 0


class Outputs:
    """The memory for what the cases of a program write, one after another."""

    def __init__(self, output_bytes):
        self.stdout, self.stderr, self.value = Written(output_bytes), Written(STDERR_KEPT, is_tail=True), Written(output_bytes)


def file_in_memory(name):
    return os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)


def write_all(fd, data, write=os.write, view=memoryview):
    rest = view(data)
    while rest:
        rest = rest[write(fd, rest) :]


def run_case(program, read_case, asks_value):
    """Forks a process that reads a case and runs the program on it. Returns how it ended, and what it wrote until the next case."""
    stdout, out = os.pipe()
    stderr, err = os.pipe()
    result, res = os.pipe() if asks_value else (None, None)
    child = os.fork()
    if child == 0:
        try:
            case = read_case()
            given = file_in_memory("stdin")
            text = case.pop("stdin", None)
            if text:
                write_all(given, text.encode("utf-8", "surrogatepass"))
                os.lseek(given, 0, os.SEEK_SET)
            fcntl.fcntl(given, fcntl.F_ADD_SEALS, 0xF)
            del text
            # The case is read: the clock starts.
            os.write(err, b".")
            program.enter(given, out, err, res, case)
        finally:
            os._exit(255)
    for fd in (out, err, res):
        if fd is not None:
            os.close(fd)
    try:
        if not os.read(stderr, 1):
            raise Lost()
        return watch(child, stdout, stderr, result, program)
    finally:
        for fd in (stdout, stderr, result):
            if fd is not None:
                os.close(fd)


def watch(child, stdout, stderr, result, program):
    """Reads what a process writes until it ends or breaks a limit."""
    started = time.monotonic()
    exit_fd = os.pidfd_open(child)
    outputs = program.outputs
    kept = {stdout: outputs.stdout, stderr: outputs.stderr}
    if result is not None:
        kept[result] = outputs.value
    for written in (outputs.stdout, outputs.stderr, outputs.value):
        written.size = 0
    poll = select.poll()
    for fd in (*kept, exit_fd):
        poll.register(fd, select.POLLIN)
    deadline = started + program.wall_s
    broken, gone, counted = None, False, started
    pause = THREADS_COUNTED_S if program.confinement.watches_threads else program.wall_s
    while broken is None:
        now = time.monotonic()
        left = deadline - now
        if left <= 0 and not gone:
            broken = "time"
            break
        if now - counted > pause:
            counted = now
            if threads_of(child) > program.confinement.most_threads:
                outputs.stderr.put(b"too many threads")
                broken = "signal"
                break
        # What is there when it has gone is read; a process that it left behind, unconfined, may still write.
        ready = poll.poll(0 if gone else min(left, pause + 0.001) * 1000) if left > -1 else []
        if gone and not ready:
            break
        for fd, _ in ready:
            if fd == exit_fd:
                gone = True
                poll.unregister(fd)
                continue
            written = kept[fd]
            if not written.read(fd):
                poll.unregister(fd)
            elif written.size > written.most:
                broken = "output"
    if not gone:
        signal.pidfd_send_signal(exit_fd, signal.SIGKILL)
    os.close(exit_fd)
    _, status, usage = os.wait4(child, 0)
    return outcome(broken, status, usage, program, time.monotonic() - started)


def threads_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[17])
    except OSError:
        return 0


def outcome(broken, status, usage, program, wall):
    cpu = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    outputs = program.outputs
    if broken is not None:
        ended = broken
    elif code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu >= program.cpu_s):
        ended = "time"
    elif code < 0:
        ended = "memory" if any(map(outputs.stderr.has, program.out_of_memory)) else "signal"
    else:
        ended = ENDS.get(code, "exit")
    if ended != "ok":
        outputs.value.size = 0
    about = {"ended": ended, "code": code, "cpu_s": round(cpu, 4), "wall_s": round(wall, 4)}
    if ended == "time" and usage.ru_nvcsw > 0 and usage.ru_nivcsw <= 2:
        # A program that waited by its own will, and hardly ever lost its core to another one, had no neighbours to blame.
        about["asleep"] = True
    return about


def texts_of(about, outputs):
    """A case's result as parts of a message: JSON that tells the sizes of what follows a line break, then standard output,
    standard error and the value."""
    parts = [one.text() for one in (outputs.stdout, outputs.stderr, outputs.value)]
    return [json.dumps({**about, "sizes": [len(part) for part in parts]}).encode(), b"\n", *parts]
