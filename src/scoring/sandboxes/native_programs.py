"""Programs that are no Python: C++ is compiled, and JavaScript runs in Node. zygote.py loads this file where they are wanted.

A compiler gets a folder of its own to write to, and reads nothing but the system's headers and libraries. What it makes is
kept in memory, not on a disk. The process of a case then becomes the program; the filter lets it start no other
process. Landlock lets it execute no other file, so without Landlock there are no other languages than Python.
"""

# cspell:disable
import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import stat
import sys
import time

zygote = sys.modules["__main__"]
confining = zygote.confining

EXECVEAT = {"execveat": (322, 281)}
# What a compiler, an assembler and a linker do besides: start each other, and write files.
TOOLS = {
    "execve": (59, 221), "vfork": (58, None), "fork": (57, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "ftruncate": (77, 46), "chmod": (90, None), "fchmod": (91, 52),
    "fchmodat": (268, 53), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "setpgid": (109, 154),
    "fallocate": (285, 47), "utimensat": (280, 88), "chdir": (80, 49), "kill": (62, 129), "tgkill": (234, 131),
    "sched_setaffinity": (203, 122), "copy_file_range": (326, 285), "sendfile": (40, 71),
}

# Judges of contests define ONLINE_JUDGE.
COMPILER_FLAGS = ["-O2", "-static", "-pipe", "-w", "-DONLINE_JUDGE", "-fmax-errors=5", "-fdiagnostics-color=never"]
# The second one is for what does not compile as the first one.
STANDARDS = ["-std=gnu++17", "-std=gnu++20"]
# Linked to each program. A thread's stack would be as large as that of the main thread otherwise, and few would fit; and glibc would reserve 64 MiB
# of addresses for the allocations of each.
START_SOURCE = b"""
#include <malloc.h>
#include <pthread.h>
__attribute__((constructor(101))) static void start() {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
  pthread_attr_t sizes;
  if (pthread_attr_init(&sizes) == 0 && pthread_attr_setstacksize(&sizes, 8 << 20) == 0) pthread_setattr_default_np(&sizes);
}
"""
COMPILER_CPU_S, COMPILER_WALL_S = 10, 60
COMPILER_MEMORY, BINARY_BYTES, MESSAGE_BYTES = 2 << 30, 64 << 20, 1 << 16

# Binaries that a server keeps, and their bytes together.
CACHE_ENTRIES, CACHE_BYTES = 32, 128 << 20

# What a program maps before it allocates anything. Node 20 maps 800 MiB, and a
# worker thread 200 more; most of it is never touched.
CPP_MAPS, NODE_MAPS = 64 << 20, 1280 << 20

# Node ends if a file of settings exists that it may not read.
NODE_ENVIRONMENT = {"UV_THREADPOOL_SIZE": "1", "OPENSSL_CONF": "/dev/null"}
NODE_START = """
const fs = require('fs'), Module = require('module')
const bytes = Buffer.alloc(fs.fstatSync(3).size)
for (let at = 0; at < bytes.length; ) at += fs.readSync(3, bytes, at, bytes.length - at, at)
fs.closeSync(3)
const source = bytes.toString()
const standard = { '/dev/stdin': 0, '/dev/stdout': 1, '/dev/stderr': 2 }
for (const name of ['readFileSync', 'readFile', 'writeFileSync', 'appendFileSync', 'createReadStream', 'createWriteStream']) {
  const plain = fs[name]
  fs[name] = (path, ...rest) => {
    const fd = typeof path === 'string' ? standard[path] : undefined
    if (fd === undefined) return plain(path, ...rest)
    if (name.startsWith('create')) return plain(null, { ...(typeof rest[0] === 'object' ? rest[0] : {}), fd })
    return plain(fd, ...rest)
  }
}
process.argv = ['node', 'program.js']
const program = new Module('/program.js')
program.filename = '/program.js'
program.paths = []
program.id = '.'
process.mainModule = program
if (/^[ \\t]*(?:import[ \\t]+[\\w{*'"]|export[ \\t])/m.test(source))
  import('data:text/javascript;base64,' + Buffer.from(source).toString('base64'))
else program._compile(source, '/program.js')
"""


class Unusable(Exception):
    """A language that cannot be used here."""


class DoesNotCompile(Exception):
    pass


def found(command):
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, command)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.realpath(path)
    raise Unusable(f"there is no {command}")


class Languages:
    """The languages besides Python, and what their programs need."""

    def __init__(self, names):
        self.paths, self.problems = {}, {}
        for name in names:
            try:
                self.paths[name] = found({"cpp": "g++", "javascript": "node"}[name])
            except Unusable as problem:
                self.problems[name] = str(problem)
        self.cache = {}
        self.slot, self.node_rules = None, None

    def open(self, confinement):
        """Makes what cases need, and tries each language. Returns {name: version}; `problems` tells of the others."""
        self.confinement = confinement
        versions, files = {}, confinement.files
        if confinement.level != "none" and confinement.rules is None:
            self.problems.update({name: "no Landlock" for name in self.paths})
            self.paths.clear()
        self.folder = self.make_folder() if "cpp" in self.paths else None
        if confinement.level != "none":
            self.run_filter = confining.SystemCallFilter(EXECVEAT)
            self.tool_filter = confining.SystemCallFilter(TOOLS, forks=True)
        if "javascript" in self.paths:
            self.node = away(os.open(self.paths["javascript"], os.O_PATH | os.O_CLOEXEC))
            if confinement.level != "none":
                starts = [self.paths["javascript"], *zygote.reading.loaders()]
                self.node_rules = away(confining.landlock_rules(files.parts_of(files.of_node), starts))
        for name in list(self.paths):
            try:
                versions[name] = self.tried(name)
            except (OSError, Unusable, DoesNotCompile) as problem:
                self.problems[name] = str(problem)[:300]
                del self.paths[name]
        return versions

    def tried(self, name):
        source, prefix = PROBES[name]
        if name == "cpp":
            self.start = self.start_object()
        self.slot = zygote.file_in_memory("program")
        message = {"program": source, "language": name, "memory_mb": 512, "cpu_s": 10, "wall_s": 20, "output_bytes": 65536}
        answer = zygote.run_probe(self.program_of(message), "21")
        self.close_slot()
        number, _, version = answer["stdout"].partition(" ")
        if answer["ended"] != "ok" or number != "42":
            raise Unusable(f"a program does not run ({answer['ended']} {answer['code']}: {answer['stderr'][-200:]})")
        return f"{prefix} {version.strip()}"

    def make_folder(self):
        """A folder that only compilers write to. One that a server left behind is removed."""
        base = "/tmp"
        for name in os.listdir(base):
            if name.startswith(FOLDER) and name[len(FOLDER) :].isdigit() and not is_alive(int(name[len(FOLDER) :])):
                remove(os.path.join(base, name))
        path = os.path.join(base, f"{FOLDER}{os.getpid()}")
        os.makedirs(path, mode=0o700)
        if self.confinement.becomes_nobody:
            os.chown(path, confining.NOBODY, confining.NOBODY)
        return path

    # --- In a server ---

    def make_slot(self):
        self.slot = zygote.file_in_memory("program") if "cpp" in self.paths else None

    def close_slot(self):
        if self.slot is not None:
            os.close(self.slot)
        self.slot = None

    def keep(self, key):
        """Keeps what a template has compiled into the slot, for the next one."""
        if not key or self.slot is None:
            return self.close_slot()
        known = self.cache.pop(key, None)
        if known is not None:
            self.close_slot()
        self.cache[key], self.slot = self.slot if known is None else known, None
        while len(self.cache) > CACHE_ENTRIES or sum(os.fstat(fd).st_size for fd in self.cache.values()) > CACHE_BYTES:
            os.close(self.cache.pop(next(iter(self.cache))))

    # --- In a template ---

    def program_of(self, message):
        """A program whose cases can run. Raises DoesNotCompile."""
        name, source = message["language"], message["program"].encode("utf-8", "surrogatepass")
        if name not in self.paths:
            raise DoesNotCompile(f"there is no {name}")
        memory = message["memory_mb"] << 20
        if name == "cpp":
            binary = self.cache.get(message.get("key"))
            if binary is None:
                binary = self.compiled(source)
            stack = min(256 << 20, memory // 4)
            return NativeProgram(self, message, binary, None, ["program"], CPP_MAPS, stack, confining.RULES_FD)
        given = zygote.file_in_memory("program")
        zygote.write_all(given, source)
        fcntl.fcntl(given, fcntl.F_ADD_SEALS, 0xF)
        arguments = ["node", "--disable-wasm-trap-handler", "--v8-pool-size=1", f"--max-old-space-size={message['memory_mb']}"]
        arguments += ["--stack-size=60000", "-e", NODE_START]
        return NativeProgram(self, message, self.node, given, arguments, NODE_MAPS, 64 << 20, self.node_rules)

    def compiled(self, source):
        """Compiles into the slot."""
        with self.working({"program.cpp": source, "start.o": self.start}) as folder:
            for standard in STANDARDS:
                status, said = self.run_compiler(folder, [standard, "-o", "program", "program.cpp", "start.o"])
                # What takes long breaks a limit, and would break it again.
                usage = resource.getrusage(resource.RUSAGE_CHILDREN)
                if status == 0 or usage.ru_utime + usage.ru_stime > COMPILER_CPU_S / 3:
                    break
            if status != 0:
                raise DoesNotCompile(said or "the compiler broke its limits of time or memory")
            self.take(os.path.join(folder, "program"))
        return self.slot

    def start_object(self):
        with self.working({"start.cpp": START_SOURCE}) as folder:
            status, said = self.run_compiler(folder, ["-c", "-o", "start.o", "start.cpp"])
            if status != 0:
                raise Unusable(f"it does not compile: {said}")
            with open(os.path.join(folder, "start.o"), "rb") as file:
                return file.read()

    @contextlib.contextmanager
    def working(self, files):
        """A folder with files for one run of the compiler."""
        folder = os.path.join(self.folder, str(os.getpid()))
        os.mkdir(folder, 0o700)
        try:
            for name, text in files.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(text)
            yield folder
        finally:
            remove(folder)

    def run_compiler(self, folder, arguments):
        said, out = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.become_compiler(folder, out, arguments)
            finally:
                os._exit(255)
        os.close(out)
        exit_fd = os.pidfd_open(child)
        poll = select.poll()
        for fd in (said, exit_fd):
            poll.register(fd, select.POLLIN)
        until, kept, gone = time.monotonic() + COMPILER_WALL_S, bytearray(), False
        while len(kept) <= MESSAGE_BYTES:
            ready = poll.poll(0 if gone else max(0, until - time.monotonic()) * 1000)
            if not ready and not gone:
                # A machine that is too busy; the other side runs the program elsewhere.
                kill_group(child)
                os._exit(zygote.TOO_BUSY)
            if not ready:
                break
            for fd, _ in ready:
                part = os.read(fd, 1 << 16) if fd == said else b""
                kept += part
                gone = gone or fd == exit_fd
                if not part:
                    poll.unregister(fd)
        kill_group(child)
        _, status = os.waitpid(child, 0)
        for fd in (said, exit_fd):
            os.close(fd)
        code = os.waitstatus_to_exitcode(status) if len(kept) <= MESSAGE_BYTES else 1
        return code, bytes(kept).decode("utf-8", "replace").replace(folder + "/", "")[:500]

    def become_compiler(self, folder, out, arguments):
        os.setsid()
        confining.libc.prctl(confining.PR_SET_PDEATHSIG, zygote.KILL_SIGNAL, 0, 0, 0)
        silent = os.open(os.devnull, os.O_RDONLY)
        for fd, target in ((silent, 0), (out, 1), (out, 2)):
            os.dup2(fd, target)
        os.chdir(folder)
        for name, most in (
            (resource.RLIMIT_CPU, COMPILER_CPU_S),
            (resource.RLIMIT_AS, COMPILER_MEMORY),
            (resource.RLIMIT_FSIZE, BINARY_BYTES),
            (resource.RLIMIT_STACK, 64 << 20),
        ):
            confining.lower(name, most, most)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if self.confinement.level != "none":
            files = self.confinement.files
            starts = [*files.compiler_programs, *zygote.reading.loaders()]
            confining.restrict(confining.landlock_rules(files.parts_of(files.of_compiler), starts, folder))
            self.tool_filter.install()
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": folder, "LC_ALL": "C"}
        compiler = self.paths["cpp"]
        os.execve(compiler, [compiler, *COMPILER_FLAGS, *arguments], environment)

    def take(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(fd).st_mode) or os.fstat(fd).st_size > BINARY_BYTES:
            raise DoesNotCompile("the program is too large")
        while True:
            part = os.read(fd, 1 << 20)
            if not part:
                break
            zygote.write_all(self.slot, part)
        os.close(fd)
        fcntl.fcntl(self.slot, fcntl.F_ADD_SEALS, 0xF)


class NativeProgram(zygote.Program):
    """A binary, with what its cases have in common."""

    out_of_memory = b"bad_alloc", b"heap out of memory", b"process OOM"

    def __init__(self, languages, message, binary, source, arguments, maps, stack, rules):
        super().__init__(None, message, languages.confinement)
        self.languages, self.binary, self.source, self.arguments, self.rules = languages, binary, source, arguments, rules
        memory = maps + (message["memory_mb"] << 20)
        self.limits = [(name, limit) for name, limit in self.limits if name != resource.RLIMIT_AS]
        for name, most in ((resource.RLIMIT_STACK, stack), (resource.RLIMIT_AS, memory)):
            self.limits.append((name, confining.lowered(name, most, most)))

    def enter(self, given, out, err, _result, _case):
        """Becomes the program."""
        confining.libc.prctl(confining.PR_SET_PDEATHSIG, zygote.KILL_SIGNAL, 0, 0, 0)
        for fd, target in ((given, 0), (out, 1), (err, 2)):
            os.dup2(fd, target)
        if self.source is not None:
            os.dup2(self.source, 3)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for name, limit in self.limits:
            resource.setrlimit(name, limit)
        if self.confinement.level != "none":
            confining.restrict(self.rules)
            self.languages.run_filter.install()
        os.execve(self.binary, self.arguments, NODE_ENVIRONMENT if self.source is not None else {})


FOLDER = "reward-gateway-compiler-"
PROBES = {
    "cpp": ('#include <cstdio>\nint main() { int n; if (scanf("%d", &n) == 1) printf("%d " __VERSION__, n * 2); }', "g++"),
    "javascript": ("console.log(require('fs').readFileSync(0, 'utf8') * 2, process.versions.node)", "Node"),
}


def away(fd):
    """The same descriptor out of the way of the numbers that a case uses."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, confining.RULES_FD + 1)
    os.close(fd)
    return moved


def kill_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except OSError as error:
        if error.errno != errno.ESRCH:
            raise


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def remove(path):
    """Removes a folder of a compiler, which holds no folders."""
    try:
        for name in os.listdir(path):
            inner = os.path.join(path, name)
            remove(inner) if os.path.isdir(inner) and not os.path.islink(inner) else os.unlink(inner)
        os.rmdir(path)
    except OSError:
        pass
