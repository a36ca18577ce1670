"""Which files a program or a compiler may read: what it runs on, and no package, config or home that lies beside it.

zygote.py loads this file.
"""

# cspell:disable
import os
import shlex
import sys

LOADERS = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"]
# Time zones, and what Debian's Node reads of itself.
DATA = ["/usr/share/zoneinfo", "/usr/share/nodejs"]
TOOL_FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin"]
# Where loaders look for libraries.
LIBRARY_FOLDERS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"]
PACKAGES = {"site-packages", "dist-packages", "node_modules"}




class ReadableFiles:
    """What is read by whom. `tools`: the programs of other languages than Python, by language."""

    def __init__(self, tools):
        self.of_python = interpreter_files()
        self.of_node = tool_files(tools["javascript"]) if "javascript" in tools else []
        self.compiler_programs, self.of_compiler = compiler_files(tools["cpp"]) if "cpp" in tools else ([], [])
        self.compiles = "cpp" in tools
        folders = TOOL_FOLDERS if self.compiles else []
        self.all = outermost([*self.of_python, *self.of_node, *self.of_compiler, *folders])
        self.hidden = [folder for path in self.all for folder in packages_below(path)]
        # A file has the names that it has in the machine.
        names = [*sys.path, *LOADERS, *LIBRARY_FOLDERS, *folders]
        self.links = [link for name in names for link in links_to(name)]

    def is_public(self):
        """Whether any user may read them, by the paths that lead to them now."""
        return all(map(is_public, self.all))

    def parts_of(self, paths):
        """(path, whether what lies below it is readable) without the packages, which in namespaces are not there anyway."""
        parts = []
        for path in paths:
            inner = around(path, packages_below(path))
            parts += [(one, True) for one in inner] + ([] if inner == [path] else [(path, False)])
        return parts


def interpreter_files():
    """Files and folders that Python reads: its own library, without packages, and the folders of the libraries in use."""
    with open("/proc/self/maps") as file:
        mapped = {line.split(maxsplit=5)[-1].rstrip("\n") for line in file if ".so" in line}
    return outermost([*sys.path, *library_folders(mapped), *DATA[:1]])


def tool_files(tool):
    """The same for another program: what it is linked with."""
    linked = output(f"LD_TRACE_LOADED_OBJECTS=1 {shlex.quote(tool)} --version").split()
    return outermost([tool, *loaders(), *library_folders(word for word in linked if ".so" in word), *DATA])


def compiler_files(compiler):
    """The programs that a compiler of C++ starts, and all that it reads: headers, libraries and these."""
    machine = output(f"{shlex.quote(compiler)} -dumpmachine").strip() or "none"
    programs = [compiler]
    for name in ("as", "ld", "ld.bfd", "cc1plus", "collect2"):
        path = output(f"{shlex.quote(compiler)} -print-prog-name={name}").strip()
        programs += [path] if os.path.isabs(path) else [os.path.join(folder, name) for folder in TOOL_FOLDERS]
    programs = outermost(programs)
    folders = ["/usr/local/include"]
    for prefix in {"/usr", os.path.dirname(os.path.dirname(compiler))}:
        names = ["include", "libexec", "lib/gcc", "lib/gcc-cross", "lib/bfd-plugins", "lib32", "lib64", "libx32", machine]
        several = f"lib/{machine}"
        names.append(several if os.path.isdir(os.path.join(prefix, several)) else "lib")
        folders += [os.path.join(prefix, name) for name in names]
    return programs, outermost([*programs, *folders, *tool_files(compiler)])


def loaders():
    return [path for path in map(os.path.realpath, LOADERS) if os.path.isfile(path)]


def library_folders(paths):
    return {os.path.dirname(os.path.realpath(path)) for path in paths if os.path.isabs(path) and os.path.isfile(path)}


def output(command):
    with os.popen(f"{command} 2>/dev/null </dev/null") as said:
        return said.read()


def links_to(path):
    """The links on the way to a file, as (link, what it says)."""
    links, done, rest = [], "/", [part for part in path.split("/") if part]
    while rest and len(links) < 40:
        part = rest.pop(0)
        here = os.path.normpath(os.path.join(done, part))
        if os.path.islink(here):
            target = os.readlink(here)
            links.append((here, target))
            rest = [one for one in target.split("/") if one] + rest
            done = "/" if os.path.isabs(target) else done
        else:
            done = here
    return links


def outermost(paths):
    """Paths that exist, as they really are, without those that lie below others."""
    real = sorted({os.path.realpath(path) for path in paths if path and os.path.exists(path)} - {"/"})
    return [path for path in real if not any(path.startswith(f"{other}/") for other in real)]


def is_public(path):
    """Whether any user may read it."""
    wanted = 0o5 if os.path.isdir(path) else 0o4
    while os.stat(path).st_mode & wanted == wanted:
        if path == "/":
            return True
        path, wanted = os.path.dirname(path), 0o1
    return False


def packages_below(path):
    """Folders of packages in a folder of libraries: here, or in the folder of a version of Python."""
    if not os.path.isdir(path) or not os.access(path, os.R_OK):
        return []
    above = [path, *(os.path.join(path, name) for name in os.listdir(path) if name.startswith("python"))]
    inner = [os.path.join(folder, name) for folder in above for name in sorted(PACKAGES)]
    return [one for one in inner if os.path.isdir(one) and not os.path.islink(one) and is_filled(one)]


def is_filled(folder):
    return os.access(folder, os.R_OK) and bool(os.listdir(folder))


def around(path, hidden):
    """What a folder holds but for some folders below it. Links are left out: their targets count by themselves."""
    if path in hidden:
        return []
    if not any(one.startswith(f"{path}/") for one in hidden):
        return [path]
    inner = [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
    return [one for name in inner for one in around(name, hidden)]
