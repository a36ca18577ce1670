"""Runs programs that nobody trusts, each case in a process of its own that can reach nothing.

Needs CPython 3.9 or newer on Linux (x86-64 or arm64), no root and no package. Messages go over standard input and
output: four bytes of length (big endian), then JSON. The first message says how programs are confined:

    {"level": "namespaces" | "landlock" | "none", "missing": ["why a better level does not hold"], "open": ["what is
     open at this level"], "python": "3.11.2", "languages": {"cpp": "g++ 12.2.0"}, "absent": {"javascript": "why"}}

Then the other side sends, and waits for each answer:

    {"program": source, "memory_mb": 1024, "cpu_s": 10, "wall_s": 10, "output_bytes": 1048576}, with "language": "cpp" |
        "javascript", whose cases have only "stdin", and "key": a hash of a C++ source, which is then compiled once
        -> {"compiled": true} | {"compiled": false, "message": "..."}
    {"stdin": "text"} | {"call": "name", "args": "a JSON list"} | {"value": "expression"} |
    {"check": "statements", "gives": "any text"}
        -> {"ended": "ok" | "exception" | "exit" | "signal" | "time" | "memory" | "output" | "missing", "code": 0,
            "stdout": "...", "stderr": "...", "value": encoded, "asleep": true, "cpu_s": 0.01, "wall_s": 0.01}
    {"end": true}, after which the next program may come

Three kinds of process take part. The server imports what programs use, once. For each program it forks a template,
which compiles the source. The template forks a process for each case, so that a case costs neither the start of an
interpreter nor a compilation. Only that last process runs the program. It knows its own input and nothing else:
what a case expects never comes here.
"""

# cspell:disable
import os

# Modules ask to be told of forks, to seed random numbers anew and to mend locks. Here a process that forks has one thread and
# holds no lock, and what nobody touches after a fork need not be copied.
os.register_at_fork, register_at_fork = lambda **_: None, os.register_at_fork

import _thread
import builtins
import ctypes
import errno
import fcntl
import gc
import io
import json
import resource
import select
import signal
import struct
import sys
import threading
import time
import traceback

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
COMPILER_BYTES = 1 << 30
RECURSION = 600_000  # as verl's prime_code sets it
STACK = 512 << 20
STDERR_KEPT = 4_096

# Exit codes by which a case tells how it ended. A program can end with them too, which makes it fail by another name.
EXCEPTION, NO_MEMORY, MISSING = 241, 242, 243
NOBODY = 65534
# By which a template tells that the other side has gone, and that the machine was too busy to compile.
NO_MORE, TOO_BUSY = 4, 5
ENDS = {0: "ok", EXCEPTION: "exception", NO_MEMORY: "memory", MISSING: "missing"}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


KILL_SIGNAL = int(signal.SIGKILL)
# native_programs.py, and the languages of it that can be used.
native, languages = None, None


def call(result, what):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


# Numbers of descriptors, out of the way of those that a case uses.
MESSAGES_IN, MESSAGES_OUT, RULES_FD = 198, 199, 200

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


def receive(decode=json.JSONDecoder().scan_once):
    """The next message, or None when the other side has gone."""
    head = read_exactly(MESSAGES_IN, 4)
    body = head and read_exactly(MESSAGES_IN, int.from_bytes(head, "big"))
    return None if body is None else decode(body.decode(), 0)[0]


def write_all(fd, data, write=os.write, view=memoryview):
    rest = view(data)
    while rest:
        rest = rest[write(fd, rest) :]


def send(message):
    send_text(json.dumps(message))


def send_text(text):
    body = text.encode()
    write_all(MESSAGES_OUT, len(body).to_bytes(4, "big") + body)


# --- Namespaces: no other process, no network, and of the file system only what the interpreter reads -------------

NEW_ALL = 0x10000000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x00020000 | 0x04000000  # user pid net ipc mount uts
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2


def readable_paths():
    """Folders that the interpreter and its libraries lie in."""
    paths = {"/usr", "/lib", "/lib64", sys.base_prefix, sys.base_exec_prefix, os.path.dirname(os.path.realpath(os.__file__))}
    return sorted(path for path in paths if path != "/" and os.path.isdir(path))


def devices():
    return [path for path in ("/dev/null", "/dev/zero", "/dev/urandom") if os.path.exists(path)]


def enter_namespaces():
    """Becomes the first process of new namespaces; the process that called waits for it and ends as it ends."""
    uid, gid = os.getuid(), os.getgid()
    call(libc.unshare(NEW_ALL), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"65534 {uid} 1"), ("gid_map", f"65534 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    told, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        problem = os.read(told, 4096).decode()
        if problem:
            os.waitpid(child, 0)
            raise OSError(problem)
        for fd in (MESSAGES_IN, MESSAGES_OUT):
            os.close(fd)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        change_root()
    except BaseException as error:
        os.write(tell, str(error).encode() or b"failed")
        os._exit(1)
    os.close(tell)
    os.close(told)


def mount(source, target, kind, flags, data=None):
    text = [part and part.encode() for part in (source, target, kind, data)]
    call(libc.mount(text[0], text[1], text[2], ctypes.c_ulong(flags), text[3]), f"mount {target}")


def change_root():
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    paths = readable_paths()
    root = "/tmp" if os.path.isdir("/tmp") else "/var"
    # What lies below the place of the new root is reached through the old root.
    old = os.open("/", os.O_PATH | os.O_DIRECTORY)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV)
    os.fchdir(old)
    for path in paths:
        if os.path.islink(path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(os.readlink(path), root + path)
        elif not os.path.isdir(root + path):
            bind(path, root + path, is_folder=True)
    for path in [*devices(), *(languages.files() if languages else [])]:
        if not os.path.exists(root + path):
            bind(path, root + path, is_folder=False)
    if languages:
        # For compilers. Landlock keeps programs out.
        os.makedirs(root + "/tmp")
        mount("tmpfs", root + "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=512m,mode=700")
    os.close(old)
    os.chdir(root)
    call(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    call(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def bind(source, target, is_folder):
    os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
    if not is_folder:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    mount(source, target, None, MS_BIND | MS_REC)
    # A mount keeps the flags that its owner locked.
    flags = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | 8 | 1024 | 2048)
    mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags)


# --- Landlock: files are read below a few folders only, no TCP, no signal to another process ----------------------

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_FILE, TRUNCATE = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 14


def landlock_rules(executables=(), writable=None):
    """A file descriptor of the rules, or None where the kernel has no Landlock."""
    version = libc.syscall(LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return None
    files = (1 << (13, 14, 15, 15, 16)[min(version, 5) - 1]) - 1
    attributes = struct.pack("QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = call(libc.syscall(LANDLOCK_CREATE, attributes, len(attributes), 0), "landlock")

    def allow(path, access):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        access &= files if os.path.isdir(path) else files & (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE)
        call(libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", access, fd), 0), f"landlock {path}")
        os.close(fd)

    for path in readable_paths() + devices():
        allow(path, READ_FILE | READ_DIR)
    for path in executables:
        allow(path, READ_FILE | READ_DIR | EXECUTE)
    if writable is not None:
        allow(writable, READ_FILE | READ_DIR | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_FILE | TRUNCATE)
    return rules


def restrict(rules, syscall=libc.syscall):
    if rules is not None:
        call(syscall(LANDLOCK_RESTRICT, rules, 0), "landlock")


# --- seccomp: the system calls of a program that computes ----------------------------------------------------------

# Name: number on x86-64, number on arm64 (None: the machine has no such call).
ALWAYS = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67), "pwrite64": (18, 68),
    "preadv": (295, 69), "pwritev": (296, 70), "close": (3, 57), "close_range": (436, 436), "lseek": (8, 62),
    "fstat": (5, 80), "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "open": (2, None), "openat": (257, 56),
    "readlink": (89, None), "readlinkat": (267, 78), "getdents64": (217, 61), "getcwd": (79, 17), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "alarm": (37, None), "pause": (34, None), "setitimer": (38, 103), "getitimer": (36, 102), "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115), "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169),
    "time": (201, None), "times": (100, 153), "getrusage": (98, 165), "sysinfo": (99, 179), "uname": (63, 160),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158), "getpgrp": (111, None), "getpgid": (121, 155),
    "getsid": (124, 156), "getpriority": (140, 141), "getcpu": (309, 168), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "futex": (202, 98), "set_robust_list": (273, 99), "get_robust_list": (274, 100), "set_tid_address": (218, 96),
    "rseq": (334, 293), "membarrier": (324, 283), "arch_prctl": (158, None), "getrlimit": (97, 163),
    "setrlimit": (160, 164), "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94), "wait4": (61, 260),
    "waitid": (247, 95), "restart_syscall": (219, 128), "umask": (95, 166), "fadvise64": (221, 223),
    "get_mempolicy": (239, 236),
}
# Name: numbers, argument that is looked at, values that it may have. `pid` stands for the process itself.
BY_ARGUMENT = {
    "kill": ((62, 129), 0, ("pid",)),
    "tgkill": ((234, 131), 0, ("pid",)),
    "prlimit64": ((302, 261), 0, (0, "pid")),
    "ioctl": ((16, 29), 1, (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)),
    # Everything but the commands that choose who gets a signal.
    "fcntl": ((72, 25), 1, (0, 1, 2, 3, 4, 1030, 1032, 1034)),
    "prctl": ((157, 167), 0, (15, 16)),
    "socketpair": ((53, 199), 0, (1,)),
}
CLONE = (56, 220)
CLONE3 = (435, 435)
CLONE_THREAD, CLONE_NEW_ANY = 0x00010000, 0x7E020080
ARCHITECTURE = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
LOAD, EQUAL, AND_SET, RETURN, AT_LEAST = 0x20, 0x15, 0x45, 0x06, 0x35
ALLOW, KILL, REFUSE, ABSENT = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def seccomp_program(more, forks):
    """The filter's instructions, and the offsets at which each process puts its own number. `more`: calls besides.

    A search tree over the calls' numbers: loading a filter costs its length times the number of calls otherwise.
    """
    column, audit = ARCHITECTURE[os.uname().machine]
    bodies = {numbers[column]: [(RETURN, 0, 0, ALLOW)] for numbers in ALWAYS.values() if numbers[column] is not None}
    for numbers, argument, values in BY_ARGUMENT.values():
        allowed = [line for value in values for line in ((EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW))]
        bodies[numbers[column]] = [(LOAD, 0, 0, 16 + 8 * argument), *allowed, (RETURN, 0, 0, REFUSE)]
    bodies.update({numbers[column]: [(RETURN, 0, 0, ALLOW)] for numbers in more.values() if numbers[column] is not None})
    bodies[CLONE[column]] = [
        (LOAD, 0, 0, 16), (AND_SET, 0, 1, CLONE_NEW_ANY), (RETURN, 0, 0, REFUSE),
        (AND_SET, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ALLOW if forks else REFUSE),
    ]
    bodies[CLONE3[column]] = [(RETURN, 0, 0, ABSENT)]
    if column == 0:
        bodies[0x40000000] = [(RETURN, 0, 0, KILL)]  # x32 has its own numbers, from here on
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, audit), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    code += search_tree(ranges_of(bodies, 0x40000000))
    own = [8 * at + 4 for at, (_, _, _, value) in enumerate(code) if value == "pid"]
    packed = [struct.pack("HBBI", op, yes, no, 0 if value == "pid" else value) for op, yes, no, value in code]
    return b"".join(packed), own


def ranges_of(bodies, endless):
    """(first number, what is done) in order; each holds to the next one, and what no call has is refused."""
    ranges = [(0, [(RETURN, 0, 0, REFUSE)])]
    for number in sorted(bodies):
        for start, body in ((number, bodies[number]), (number + 1, [(RETURN, 0, 0, REFUSE)])):
            if start == endless + 1:
                continue
            if ranges[-1][0] == start:
                ranges.pop()
            if not ranges or ranges[-1][1] != body:
                ranges.append((start, body))
    return ranges


def search_tree(ranges):
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = search_tree(ranges[:middle]), search_tree(ranges[middle:])
    return [(AT_LEAST, len(below), 0, ranges[middle][0]), *below, *above]


class FilterCode(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


class SystemCallFilter:
    """A filter that any process can install. `forks`: it may make processes."""

    def __init__(self, more=None, forks=False):
        packed, own = seccomp_program(more or {}, forks)
        self.code = ctypes.create_string_buffer(packed, len(packed))
        self.filter = ctypes.byref(FilterCode(len(packed) // 8, ctypes.addressof(self.code)))
        self.put_number = [(struct.Struct("I").pack_into, self.code, offset) for offset in own]

    def install(self, prctl=libc.prctl):
        pid = os.getpid()
        for put, code, offset in self.put_number:
            put(code, offset, pid)
        call(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, self.filter), "seccomp")


# --- A case ------------------------------------------------------------------------------------------------------


class Confinement:
    """What keeps the process of a case from reaching anything."""

    def __init__(self, level, own_bytes):
        self.level = level
        self.own_bytes = own_bytes
        self.rules, self.filter = None, None
        if level != "none":
            rules = landlock_rules()
            if rules is not None:
                self.rules = fcntl.fcntl(rules, fcntl.F_DUPFD_CLOEXEC, RULES_FD)
                os.close(rules)
            self.filter = SystemCallFilter()

    def enter_template(self):
        """What a template gives up for itself and for the cases that it forks."""
        lower(resource.RLIMIT_CORE, 0, 0)
        lower(resource.RLIMIT_NOFILE, 64, 64)
        if self.level != "none":
            call(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
            drop_privileges()

    def limits_of(self, message):
        """Arguments of setrlimit for each case of a program."""
        memory = self.own_bytes + (message["memory_mb"] << 20)
        cpu = max(1, int(-(-message["cpu_s"] // 1)))
        wanted = [(resource.RLIMIT_AS, memory, memory), (resource.RLIMIT_CPU, cpu, cpu + 1)]
        if self.level != "none":
            wanted.append((resource.RLIMIT_FSIZE, 0, 0))
        return [(name, lowered(name, soft, hard)) for name, soft, hard in wanted]

    def enter(self, limits, set_limit=resource.setrlimit):
        """What the process of a case gives up before it runs the program."""
        for name, limit in limits:
            set_limit(name, limit)
        if self.filter is None:
            return
        if self.rules is not None:
            restrict(self.rules)
            os.close(self.rules)
        self.filter.install()


def lowered(name, soft, hard):
    most = resource.getrlimit(name)[1]
    return (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))


def lower(name, soft, hard):
    resource.setrlimit(name, lowered(name, soft, hard))


def drop_privileges():
    """Gives up every capability, and root where the process still is root."""
    if os.getuid() == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        except OSError:
            pass  # a container without these capabilities
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    libc.capset(header, nothing)


class Program:
    """A compiled program, with what its cases have in common."""

    # What a program writes to standard error when a signal ends it for want of memory.
    out_of_memory = ()

    def __init__(self, code, message, confinement):
        self.code = code
        self.confinement = confinement
        self.wall_s, self.cpu_s, self.output_bytes = message["wall_s"], message["cpu_s"], message["output_bytes"]
        self.limits = confinement.limits_of(message)
        module = type(sys)("__main__")
        module.__dict__.update(known_names)
        sys.modules["__main__"] = module
        self.names = module.__dict__

    def enter(self, given, out, err, res, case):
        """Turns a fork into the process of a case. Does not return."""
        enter_case(given, out, err, res, self, case)


def file_in_memory(name):
    return os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)


def run_case(program, case):
    """Forks a process that runs the program on a case. Returns how it ended, as a JSON text."""
    given = file_in_memory("stdin")
    text = case.get("stdin")
    if text:
        write_all(given, text.encode("utf-8", "surrogatepass"))
        os.lseek(given, 0, os.SEEK_SET)
    fcntl.fcntl(given, fcntl.F_ADD_SEALS, 0xF)
    stdout, out = os.pipe()
    stderr, err = os.pipe()
    result, res = (None, None) if text is not None else os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            program.enter(given, out, err, res, case)
        finally:
            os._exit(255)
    for fd in (given, out, err, res):
        if fd is not None:
            os.close(fd)
    try:
        return watch(child, stdout, stderr, result, program, started)
    finally:
        for fd in (stdout, stderr, result):
            if fd is not None:
                os.close(fd)


def watch(child, stdout, stderr, result, program, started):
    """Reads what a process writes until it ends or breaks a limit."""
    exit_fd = os.pidfd_open(child)
    kept = {fd: bytearray() for fd in (stdout, stderr, result) if fd is not None}
    poll = select.poll()
    for fd in (*kept, exit_fd):
        poll.register(fd, select.POLLIN)
    deadline = started + program.wall_s
    broken, gone = None, False
    while broken is None:
        left = deadline - time.monotonic()
        if left <= 0 and not gone:
            broken = "time"
            break
        # What is there when it has gone is read; a process that it left behind, unconfined, may still write.
        ready = poll.poll(0 if gone else left * 1000) if left > -1 else []
        if gone and not ready:
            break
        for fd, _ in ready:
            if fd == exit_fd:
                gone = True
                poll.unregister(fd)
                continue
            part = os.read(fd, 1 << 16)
            kept[fd] += part
            if not part:
                poll.unregister(fd)
            elif fd == stderr:
                del kept[fd][:-STDERR_KEPT]
            elif len(kept[fd]) > program.output_bytes:
                broken = "output"
    if not gone:
        signal.pidfd_send_signal(exit_fd, signal.SIGKILL)
    os.close(exit_fd)
    _, status, usage = os.wait4(child, 0)
    value = kept[result] if result is not None else None
    return outcome(broken, status, usage, kept[stdout], kept[stderr], value, program, time.monotonic() - started)


def outcome(broken, status, usage, stdout, stderr, result, program, wall, quote=json.encoder.encode_basestring_ascii):
    cpu = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    if broken is not None:
        ended = broken
    elif code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu >= program.cpu_s):
        ended = "time"
    elif code < 0:
        ended = "memory" if any(mark in stderr for mark in program.out_of_memory) else "signal"
    else:
        ended = ENDS.get(code, "exit")
    value = ""
    if ended == "ok" and result:
        try:
            value = f',"value":{json.dumps(json.loads(result), allow_nan=False)}'
        except (ValueError, RecursionError):
            ended = "tampered"
    printed = quote(stdout[: program.output_bytes].decode("utf-8", "replace"))
    said = quote(stderr.decode("utf-8", "replace")) if stderr else '""'
    # A program that waited by its own will, and hardly ever lost its core to another one, had no neighbours to blame.
    asleep = ',"asleep":true' if ended == "time" and usage.ru_nvcsw > 0 and usage.ru_nivcsw <= 2 else ""
    times = f'"cpu_s":{cpu:.4f},"wall_s":{wall:.4f}'
    return f'{{"ended":"{ended}","code":{code},"stdout":{printed},"stderr":{said}{value}{asleep},{times}}}'


# --- Inside the process of a case --------------------------------------------------------------------------------


def enter_case(given, out, err, res, program, case, prctl=libc.prctl):
    # Everything that is needed after the program has run is bound before it, and the program cannot reach it by name.
    leave, write, format_error, threads, exit_calls = os._exit, write_all, traceback.format_exc, _thread._count, threading
    dumps, to_encode, own_file, names, stdout, stderr = json.dumps, encode, __file__, program.names, sys.stdout, sys.stderr
    asks_value = res is not None
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
            write(3, dumps(to_encode(value_of(case, names))).encode())
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
            stderr.write("".join(line for line in lines if own_file not in line))
        except BaseException:
            pass
        ended = EXCEPTION
    try:
        stderr.flush()
    except BaseException:
        pass
    leave(ended)


class LookupMissing(Exception):
    pass


def value_of(case, names):
    if "check" in case:
        test = compile(case["check"], "<test>", "exec")
        expect_use(test, names)
        exec(test, names)
        return case["gives"]
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


def replace_open():
    """Programs of contests read '/dev/stdin', which does not exist here."""
    plain = io.open
    standard = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

    def opened(file, *rest, **named):
        number = standard.get(file) if type(file) is str else None
        return plain(file if number is None else os.dup(number), *rest, **named)

    builtins.open = io.open = opened


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
    return {"other": type(value).__name__}


# --- The template of a program -------------------------------------------------------------------------------------


def serve_program(message, confinement, compiled):
    """Compiles a program and runs its cases until the other side ends it. Runs in a process of its own. False: there was none.

    Writes to `compiled` once it has answered: before that, the server answers if this process dies.
    """
    if message is None:
        return False
    libc.prctl(PR_SET_PDEATHSIG, KILL_SIGNAL, 0, 0, 0)
    confinement.enter_template()
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
    send_text('{"compiled":true}')
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
    send_text('{"compiled":true}')
    return serve_cases(program)


def serve_cases(program):
    while True:
        case = receive()
        if case is None or "end" in case:
            return True
        send_text(run_case(program, case))


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


def probe(confinement):
    """What a program can do here that it must not."""
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    limits = {"memory_mb": 256, "cpu_s": 2, "wall_s": 5, "output_bytes": 65536}

    def run(source, stdin):
        return json.loads(run_case(Program(compile(source, "probe", "exec"), limits, confinement), {"stdin": stdin}))

    port = str(listener.getsockname()[1])
    open_doors = [name for name, source in PROBES.items() if run(source.replace("{port}", port), "")["ended"] == "ok"]
    works = run("print(int(input()) * 2)", "21")
    if works["ended"] != "ok" or works["stdout"] != "42\n":
        raise OSError(f"a program does not run when confined ({works['ended']} {works['code']}: {works['stderr'][-200:]})")
    listener.close()
    return open_doors


def confine(wanted):
    """The best level that holds, at most `wanted`. Returns it with what keeps better ones from holding."""
    missing = []
    with open("/proc/self/statm") as file:
        own_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    if os.uname().machine not in ARCHITECTURE:
        missing.append(f"no filter of system calls for {os.uname().machine}")
    elif wanted != "none":
        if wanted == "namespaces":
            try:
                enter_namespaces()
            except OSError as error:
                missing.append(f"no namespaces ({error})")
            else:
                confinement = Confinement("namespaces", own_bytes)
                return confinement, probe(confinement), missing
        confinement = Confinement("landlock", own_bytes)
        if confinement.rules is None:
            missing.append("no Landlock")
        else:
            return confinement, probe(confinement), missing
    confinement = Confinement("none", own_bytes)
    return confinement, probe(confinement), missing


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
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native_programs.py")
    module = type(sys)("native_programs")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
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
    confinement, open_doors, missing = confine(wanted)
    versions = languages.open(confinement) if languages else {}
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.argv = ["program.py"]
    version = ".".join(map(str, sys.version_info[:3]))
    about = {"languages": versions, "absent": languages.problems if languages else {}}
    send({"level": confinement.level, "missing": missing, "open": open_doors, "python": version, **about})
    serve(confinement)


def add_prelude():
    """Names of the prelude are found as built-in names are, so that it shows what the program defines itself."""
    names = {}
    exec(compile(PRELUDE, "prelude", "exec"), names)
    for name, value in names.items():
        if not hasattr(builtins, name):
            setattr(builtins, name, value)
    return {"__name__": "__main__", "__doc__": None, "__package__": None}


if __name__ == "__main__":
    replace_open()
    known_names = add_prelude()
    os.register_at_fork = register_at_fork
    main()
