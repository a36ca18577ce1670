/** How verl's prime_code, LiveCodeBench and Open-Instruct run tests: in the process of the program, which can cheat them. */

// cspell:disable
/** Python: \`own_builtins()\`, the built-in names without those that the sandbox's prelude adds. */
export const ownBuiltins = `
import builtins

OTHER_NAMES = ("None True False Ellipsis NotImplemented __debug__ __build_class__ __import__ __name__ __doc__ __loader__ "
    "__spec__ open").split()


def own_builtins():
    return {name: value for name, value in vars(builtins).items()
        if name in OTHER_NAMES or (getattr(value, "__module__", None) == "builtins" and name != "Text")}
`

/**
 * Python: `prime(source, tests, seconds, total)`, `livecodebench(source, tests, seconds)`,
 * `open_instruct_stdio(source, tests, seconds)` and `open_instruct_assert(source, test)`, each in a process of its own.
 */
export const publishedHarness = String.raw`${ownBuiltins}
import ast, builtins, io, json, os, signal, sys, time
from decimal import Decimal
from types import ModuleType

STARRED = "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json builtins typing"
IMPORTS = "".join("from %s import *\n" % name for name in STARRED.split())
IMPORTS += "".join("import %s\n" % name for name in STARRED.split() if name not in ("builtins", "typing"))
GONE = ("putenv remove removedirs rmdir fchdir setuid forkpty killpg rename renames truncate replace unlink fchmod "
    "fchown chmod chown chroot lchflags lchmod lchown getcwd chdir system")
loads, now, alarm, StringIO, real_stdout = json.loads, time.time, signal.alarm, io.StringIO, sys.stdout


def guard(os_names, modules, builtin_names, digits=4300):
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(digits)
    for name in builtin_names:
        setattr(builtins, name, None)
    for name in (GONE + os_names).split():
        setattr(os, name, None)
    try:
        import shutil, subprocess
        shutil.rmtree = shutil.move = shutil.chown = subprocess.Popen = None
    except ImportError:
        pass
    for name in modules.split():
        sys.modules[name] = None


class Opened(StringIO):
    "Every file has the test's input."
    def __exit__(self, *_):
        return None
    def close(self, *_):
        pass
    def write(self, *_):
        pass


class Printed(StringIO):
    def close(self, *_):
        pass


def call_with(method, text):
    "Runs a function on a standard input as the graders patch it. Returns what it printed."
    if isinstance(text, list):
        text = "\n".join(text)
    lines = iter(text.split("\n"))
    given = StringIO(text)
    given.readline = lambda *_: next(lines)
    given.readlines = lambda *_: text.split("\n")
    given.read = lambda *_: text
    stdin, stdout, opened = sys.stdin, sys.stdout, builtins.open
    printed = Printed()
    sys.stdout, sys.stdin, builtins.open = printed, given, lambda *_, **__: Opened(text)
    try:
        method()
    except SystemExit:
        pass
    finally:
        sys.stdout, sys.stdin, builtins.open = stdout, stdin, opened
    return printed.getvalue()


def without_main(code):
    try:
        tree = ast.parse(code)
        last = tree.body[-1]
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == "__name__ == '__main__'":
            return ast.unparse(tree.body[:-1]) + "\n" + ast.unparse(last.body)
    except Exception:
        pass
    return code


# --- verl's prime_code ---

def prime(source, tests, seconds, total):
    guard(" kill fork", "ipdb joblib resource psutil tkinter subprocess ctypes", ("exit", "quit", "help"))
    end = now() + total
    def limit():
        # The alarm ends the process, as the time for all tests does.
        signal.setitimer(signal.ITIMER_REAL, max(0.001, min(seconds, end - now())))
    try:
        return [True if one is True else False if one == False else one for one in prime_results(source, tests, limit)]
    except Exception:
        return [-1] * len(tests["inputs"])


def prime_results(source, tests, limit):
    name = tests.get("fn_name")
    head = IMPORTS + "sys.setrecursionlimit(6*10**5)\n"
    body = source if name is not None else prime_function(without_main(source))
    limit()
    try:
        module = ModuleType("tmp_sol")
        exec(compile(head + body, "<string>", "exec"), module.__dict__)
        sys.modules["tmp_sol"] = module
        holder = module.Solution() if name is not None and "class Solution" in source else module
        alarm(0)
    except Exception:
        alarm(0)
        return [-2]
    try:
        method = getattr(holder, "code" if name is None else name)
    except Exception:
        return [-2]
    results = []
    for at, given in enumerate(tests["inputs"]):
        wanted = tests["outputs"][at]
        try:
            verdict = prime_stdin(method, given, wanted, limit) if name is None else prime_call(method, given, wanted, limit)
        except PrimeFailed:
            alarm(0)
            return results + [-1]
        results.append(verdict)
        if verdict is not True:
            return results
    return results


class PrimeFailed(Exception):
    pass


def prime_function(code):
    "The program as the body of a function, its first imports outside."
    lines, started = [], False
    for line in code.split("\n"):
        is_import = line.startswith("from ") or line.startswith("import ")
        if not is_import and not started:
            lines.append("stdin = sys.stdin\nstdout = sys.stdout\ndef code():")
            started = True
        lines.append("\t" + line if started else line)
    return "\n".join(lines) + "\n"


def with_int_keys(value):
    return {int(key): one for key, one in value.items()}


def prime_call(method, given, wanted, limit):
    given = [loads(line) for line in given.split("\n")]
    wanted = loads(wanted)
    try:
        if isinstance(given[0], dict):
            given = [with_int_keys(given[0])]
    except Exception:
        pass
    try:
        if isinstance(wanted, dict):
            wanted = [with_int_keys(wanted)]
    except Exception:
        pass
    try:
        if isinstance(wanted[0], dict):
            wanted = [with_int_keys(wanted[0])]
    except Exception:
        pass
    limit()
    try:
        output = method(*given)
        json.dumps(output)
        if isinstance(output, tuple):
            output = list(output)
        verdict = output == wanted
        if isinstance(wanted, list) and wanted:
            verdict = verdict or output == wanted[0]
        try:
            if isinstance(output[0], tuple):
                verdict = verdict or [list(one) for one in output] == wanted[0]
        except Exception:
            pass
        alarm(0)
        return verdict
    except Exception:
        raise PrimeFailed()


def prime_stdin(method, given, wanted, limit):
    if not isinstance(given, str) or not isinstance(wanted, str):
        raise TypeError("the original asserts texts")
    limit()
    try:
        printed = call_with(method, given)
        alarm(0)
    except Exception:
        raise PrimeFailed()
    output = printed.splitlines()
    for lines in (output, [one.strip() for one in output]):
        if "\n".join(lines).strip() == wanted.strip():
            return True
    if output == [wanted]:
        return True
    wanted = [one.strip() for one in wanted.split("\n") if one]
    if output == wanted:
        return True
    output = [one for one in output if one]
    verdict = output == wanted
    def whole(text):
        return text.isdigit()
    try:
        if len(output) == len(wanted) and not all(whole(a) and whole(b) for a, b in zip(output, wanted)):
            some, others = [float(one) for one in output], [float(one) for one in wanted]
            verdict = verdict or all(near(a, b) for a, b in zip(some, others))
    except Exception:
        pass
    if verdict is True:
        return True
    return output == [set(one.split()) for one in wanted]


def near(a, b):
    "numpy.isclose"
    if a == b:
        return True
    return abs(a) != float("inf") and abs(b) != float("inf") and abs(a - b) <= 1e-8 + 1e-5 * abs(b)


# --- LiveCodeBench, and Open-Instruct's standard input ---

class TimeoutException(Exception):
    pass


def out_of_time(*_):
    print("timeout occured: alarm went off")
    raise TimeoutException


def lcb_function(code):
    "The program as the body of a function, its imports outside."
    try:
        imports, others = [], []
        for one in ast.parse(code).body:
            (imports if isinstance(one, (ast.Import, ast.ImportFrom)) else others).append(one)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        function = ast.FunctionDef(name="wrapped_function", args=nothing, body=others, decorator_list=[], lineno=-1)
        head = IMPORTS + "sys.setrecursionlimit(50000)\n"
        return head + "\n" + ast.unparse(imports) + "\n" + ast.unparse(function)
    except Exception:
        return code


def lcb_compiled(code, seconds):
    alarm(seconds)
    try:
        module = ModuleType("tmp_sol", "")
        exec(code, module.__dict__)
        return module.Solution() if "class Solution" in code else module
    finally:
        alarm(0)


def lcb_lines(text):
    return [line.strip() for line in text.strip().split("\n")]


def lcb_same(given, wanted):
    some, others = lcb_lines(given), lcb_lines(wanted)
    return len(some) == len(others) and all(lcb_same_line(a, b) for a, b in zip(some, others))


def lcb_same_line(given, wanted):
    if given == wanted:
        return True
    try:
        return [Decimal(one) for one in given.split()] == [Decimal(one) for one in wanted.split()]
    except Exception:
        return False


def lcb_failure(error):
    return -3 if "timeoutexception" in repr(error).lower() else -4


def livecodebench(source, tests, seconds):
    signal.signal(signal.SIGALRM, out_of_time)
    guard(" kill fork", "ipdb joblib resource psutil tkinter", ("quit", "help"), 50000)
    try:
        if tests.get("fn_name") is None:
            results = lcb_stdin(source, tests["inputs"], tests["outputs"], seconds)
        else:
            results = lcb_calls(source, tests["inputs"], tests["outputs"], tests["fn_name"], seconds)
        return [True if one is True else False if one == False else one for one in results]
    except Exception:
        return [-4]


def lcb_calls(source, inputs, outputs, name, seconds):
    code = IMPORTS + "sys.setrecursionlimit(50000)\n\n\n" + source
    method = getattr(lcb_compiled(code, seconds), name, None)
    if method is None:
        return [-4]
    inputs = [[loads(line) for line in one.split("\n")] for one in inputs]
    outputs = [loads(one) for one in outputs]
    results = []
    for given, wanted in zip(inputs, outputs):
        alarm(seconds)
        try:
            value = method(*given)
            alarm(0)
            if isinstance(value, tuple):
                value = list(value)
            verdict = value == wanted
            results.append(verdict)
            if not verdict:
                return results
        except Exception as error:
            return results + [lcb_failure(error)]
        finally:
            alarm(0)
    return results


def lcb_stdin(source, inputs, outputs, seconds):
    module = lcb_compiled(lcb_function(without_main(source)), seconds)
    method = getattr(module, "wrapped_function", None)
    if method is None:
        return [-4]
    results = []
    for given, wanted in zip(inputs, outputs):
        alarm(seconds)
        try:
            printed = call_with(method, given)
            alarm(0)
        except Exception as error:
            return results + [lcb_failure(error)]
        finally:
            alarm(0)
        if not lcb_same(printed, wanted):
            return results + [-2]
        results.append(True)
    return results


def open_instruct_stdio(source, tests, seconds):
    guard("", "ipdb joblib resource psutil tkinter", ("exit", "quit"))
    signal.signal(signal.SIGALRM, out_of_time)
    whole = -int(-seconds // 1)
    results, runtimes = [0] * len(tests), [-1.0] * len(tests)
    try:
        inputs, outputs = [one["input"] for one in tests], [one["output"] for one in tests]
        module = lcb_compiled(lcb_function(without_main(source)), whole)
        method = getattr(module, "wrapped_function", None)
        if method is None:
            return [results, runtimes]
        for at, (given, wanted) in enumerate(zip(inputs, outputs)):
            alarm(whole)
            try:
                started = now()
                printed = call_with(method, given)
                runtimes[at] = now() - started
                alarm(0)
            except Exception:
                continue
            finally:
                alarm(0)
            results[at] = int(lcb_same(printed, wanted))
    except Exception:
        return [[0] * len(tests), [-1.0] * len(tests)]
    return [results, runtimes]


def open_instruct_assert(source, test):
    guard("", "ipdb joblib resource psutil tkinter", ("exit", "quit"))
    names = {"__builtins__": own_builtins()}
    try:
        exec(source, names)
        started = now()
        exec(test, names)
        return [1, now() - started]
    except Exception:
        return [0, -1.0]
`
