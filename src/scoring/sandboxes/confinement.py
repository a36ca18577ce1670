"""What keeps the process of a program from reaching anything: namespaces, Landlock, a filter of system calls, limits.

zygote.py loads this file, and native_programs.py uses it for compilers and their programs. No package is needed.
"""

# cspell:disable
import ctypes
import errno
import fcntl
import os
import resource
import signal
import struct
import sys

NOBODY = 65534
# Threads of a program. A thread costs memory of the kernel, and a number of which a machine has some ten thousand.
MOST_THREADS = 256
# The descriptor of Landlock's rules, out of the way of those that a case uses.
RULES_FD = 200

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(result, what):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


# --- Namespaces: no other process, no network, and of the file system only what the interpreter reads -------------

NEW_ALL = 0x10000000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x00020000 | 0x04000000  # user pid net ipc mount uts
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
# Folders of which one becomes the new root.
ROOTS = ("/tmp", "/var", "/run", "/mnt")


def devices():
    return [path for path in ("/dev/null", "/dev/zero", "/dev/urandom") if os.path.exists(path)]


def enter_namespaces(files, own_fds):
    """Becomes the first process of new namespaces; the process that called waits for it and ends as it ends."""
    enter_user_namespace()
    told, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        problem = os.read(told, 4096).decode()
        if problem:
            os.waitpid(child, 0)
            raise OSError(problem)
        for fd in own_fds:
            os.close(fd)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        change_root(files)
    except BaseException as error:
        os.write(tell, str(error).encode() or b"failed")
        os._exit(1)
    os.close(tell)
    os.close(told)


def enter_user_namespace():
    """Root stays root in it, and can become the user nobody, whose threads are counted. Others, and a root of few rights, are nobody."""
    pid, uid, gid = os.getpid(), os.getuid(), os.getgid()
    wait, go = os.pipe()
    helper = os.fork() if uid == 0 else None
    if helper == 0:
        os.close(go)
        os.read(wait, 1)
        try:
            write_maps(pid, (f"0 0 1\n{NOBODY} {NOBODY} 1",) * 2)
        finally:
            os._exit(1)
    try:
        call(libc.unshare(NEW_ALL), "unshare")
    finally:
        os.close(wait)
        os.close(go)
        if helper:
            os.waitpid(helper, 0)
    if os.getuid() != 0:
        write_maps(pid, (f"{NOBODY} {uid} 1", f"{NOBODY} {gid} 1"), "deny")
    os.umask(0o022)


def write_maps(pid, maps, groups="allow"):
    for name, text in (("setgroups", groups), ("uid_map", maps[0]), ("gid_map", maps[1])):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)


def mount(source, target, kind, flags, data=None):
    text = [part and part.encode() for part in (source, target, kind, data)]
    call(libc.mount(text[0], text[1], text[2], ctypes.c_ulong(flags), text[3]), f"mount {target}")


def change_root(files):
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    root = next(name for name in ROOTS if os.path.isdir(name) and not any(path.startswith(name + "/") for path in files.all))
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV)
    for path in [*files.all, *devices()]:
        bind(path, root + path, is_folder=os.path.isdir(path))
    for path in files.hidden:
        mount("tmpfs", root + path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k")
    for path, target in files.links:
        if not os.path.lexists(root + path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(target, root + path)
    if files.compiles:
        # For compilers. Landlock keeps programs out.
        os.makedirs(root + "/tmp")
        mount("tmpfs", root + "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=512m,mode=711")
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


def landlock_rules(readable, executables=(), writable=None):
    """A file descriptor of the rules, or None where the kernel has no Landlock. `readable`: as `parts_of` of the files gives it."""
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

    for path, is_whole in readable:
        allow(path, READ_FILE | READ_DIR if is_whole else READ_DIR)
    for path in devices():
        allow(path, READ_FILE)
    for path in executables:
        allow(path, READ_FILE | EXECUTE)
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


# --- All of it -----------------------------------------------------------------------------------------------------


class Confinement:
    """What keeps the process of a case from reaching anything."""

    def __init__(self, level, own_bytes, files):
        self.level = level
        self.own_bytes = own_bytes
        self.files = files
        # An interpreter in root's home, say, can be read by root only. Landlock keeps all else closed.
        self.becomes_nobody = level != "none" and os.getuid() == 0 and files.is_public()
        # A namespace of users counts its own threads. Elsewhere the kernel counts those of all processes of a user, so a
        # template looks how many its case has.
        self.most_threads = MOST_THREADS
        self.counts_threads, self.watches_threads = level == "namespaces", level == "landlock"
        self.rules, self.filter = None, None
        if level != "none":
            rules = landlock_rules(files.parts_of(files.of_python))
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
            drop_privileges(self.becomes_nobody)

    def limits_of(self, message):
        """Arguments of setrlimit for each case of a program."""
        # What a template keeps of a case's outputs is mapped in the case too, where it is empty.
        memory = self.own_bytes + (message["memory_mb"] << 20) + 2 * message["output_bytes"]
        cpu = max(1, int(-(-message["cpu_s"] // 1)))
        wanted = [(resource.RLIMIT_AS, memory, memory), (resource.RLIMIT_CPU, cpu, cpu + 1)]
        if self.level != "none":
            wanted.append((resource.RLIMIT_FSIZE, 0, 0))
        if self.counts_threads:
            wanted.append((resource.RLIMIT_NPROC, MOST_THREADS, MOST_THREADS))
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


def drop_privileges(becomes_nobody):
    """Gives up every capability, and root if it may."""
    if becomes_nobody:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        except OSError:
            pass  # a container without these capabilities
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    libc.capset(header, nothing)


def confine(wanted, probe, files, own_fds):
    """The best level that holds, at most `wanted`. Returns it, what `probe` finds open, and what keeps better ones from holding.

    `files`: what can be read. `own_fds`: closed in the process that waits.
    """
    missing = []
    with open("/proc/self/statm") as file:
        own_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    if os.uname().machine not in ARCHITECTURE:
        missing.append(f"no filter of system calls for {os.uname().machine}")
    elif wanted != "none":
        if wanted == "namespaces":
            try:
                enter_namespaces(files, own_fds)
            except OSError as error:
                missing.append(f"no namespaces ({error})")
            else:
                confinement = Confinement("namespaces", own_bytes, files)
                missing += ["no Landlock"] if confinement.rules is None else []
                return confinement, probe(confinement), missing
        confinement = Confinement("landlock", own_bytes, files)
        if confinement.rules is None:
            missing.append("no Landlock")
        else:
            return confinement, probe(confinement), missing
    confinement = Confinement("none", own_bytes, files)
    return confinement, probe(confinement), missing
