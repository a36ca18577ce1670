import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CaseResult, Execution, ProgramCase, ProgramLanguage } from '../../../src/contract/execution.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { GatewayError } from '../../../src/core/errors.ts'
import { LocalSandbox } from '../../../src/scoring/sandboxes/local-sandbox.ts'
import type { SandboxEvents } from '../../../src/scoring/sandboxes/sandbox.ts'
import { localConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
import { Sandboxes } from '../../../src/scoring/sandboxes/sandboxes.ts'
import { withoutPython } from '../../support/python.ts'
import { zygotes } from '../../support/sandbox.ts'

const limits = { cpuSeconds: 2, wallSeconds: 3, memoryMb: 256 }

function open(config: object = {}, events: SandboxEvents = {}): LocalSandbox {
  const sandbox = new LocalSandbox(
    'local',
    localConfig.parse({ programs: 1, ...config }),
    systemClock,
    events,
  )
  t.teardown(() => sandbox.close())
  return sandbox
}

const soon = () => ({ deadline: systemClock.now() + 60_000, signal: new AbortController().signal })

async function run(
  sandbox: LocalSandbox,
  program: string,
  cases: readonly ProgramCase[],
  more: Partial<Execution> = {},
) {
  const outcome = await sandbox.run({
    execution: { language: 'python', program, cases, limits, ...more },
    ...soon(),
  })
  if ('failure' in outcome) throw new Error(outcome.failure.detail)
  return outcome.result
}

const only = async (
  sandbox: LocalSandbox,
  program: string,
  one: ProgramCase = { stdin: '' },
): Promise<CaseResult> => {
  const [result] = (await run(sandbox, program, [one])).cases
  if (!result) throw new Error('no case was run')
  return result
}

const confined = open()
const greeting = await confined.greeting().catch((error: unknown) => {
  if (error instanceof GatewayError) return error.message
  throw error
})
const skip = withoutPython || (typeof greeting === 'string' ? greeting : false)

t.test('how a case ended is told', { skip }, async (t) => {
  const table: readonly (readonly [string, string, string])[] = [
    ['print(1)', 'ok', ''],
    ['import sys\nsys.exit(0)', 'ok', ''],
    ['import os\nos._exit(0)', 'ok', ''],
    ['1 / 0', 'exception', 'ZeroDivisionError: division by zero'],
    ['raise KeyboardInterrupt', 'exception', 'KeyboardInterrupt'],
    ['import sys\nsys.exit("bad")', 'exit', 'bad'],
    ['import sys\nsys.exit(3)', 'exit', ''],
    ['import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)', 'signal', ''],
    ['x = "a" * (1 << 30)', 'memory', ''],
    ['while True: print("x" * 1000)', 'output', ''],
    ['import time\ntime.sleep(60)', 'time', ''],
  ]
  const short = { ...limits, wallSeconds: 1 }
  for (const [program, ended, error] of table) {
    const [result] = (await run(confined, program, [{ stdin: '' }], { limits: short })).cases
    t.same([result?.ended, result?.error], [ended, error], program)
  }
})

t.test('a program that does not compile runs no case', { skip }, async (t) => {
  for (const program of ['print(', 'a\0b', `${'('.repeat(5000)}`, `x = ${'-'.repeat(100_000)}1`]) {
    const { compiled, cases } = await run(confined, program, [{ stdin: '' }])
    t.same([compiled, cases], [false, []], program.slice(0, 10))
  }
})

t.test('a case passes if it gave what was expected, and by nothing else', { skip }, async (t) => {
  const f = (value: string) => `def f(x): return ${value}`
  const table: readonly (readonly [string, ProgramCase, boolean])[] = [
    ['print(int(input()) * 2)', { stdin: '21', expected: { stdout: '42' } }, true],
    ['print("42 \\n\\n")', { stdin: '', expected: { stdout: '42' } }, true],
    ['print("42.0")', { stdin: '', expected: { stdout: '42' } }, true],
    ['print("42.0")', { stdin: '', expected: { exact: '42' } }, false],
    ['print("42")', { stdin: '', expected: { exact: '42\n' } }, true],
    ['print("4 2")', { stdin: '', expected: { stdout: '42' } }, false],
    ['print("1\\n2")', { stdin: '', expected: { stdout: '1 2' } }, false],
    ['print(0.1 + 0.2)', { stdin: '', expected: { stdout: '0.3' } }, false],
    ['print(0.1 + 0.2)', { stdin: '', expected: { stdout: '0.3', tolerance: 1e-9 } }, true],
    ['print("nan")', { stdin: '', expected: { stdout: '1', tolerance: 1 } }, false],
    ['print(5)', { stdin: '', expected: { stdout: '1e400', tolerance: 1e-6 } }, false],
    ['print("1e400")', { stdin: '', expected: { stdout: '1e401', tolerance: 1e-6 } }, false],
    ['print(42)\n1 / 0', { stdin: '', expected: { stdout: '42' } }, false],
    ['import os\nprint(42, flush=True)\nos._exit(0)', { stdin: '', expected: { stdout: '42' } }, true],
    ['print(open("/dev/stdin").read())', { stdin: '42', expected: { stdout: '42' } }, true],
    ['import sys\nprint(sys.stdin.buffer.read().decode())', { stdin: 'é', expected: { stdout: 'é' } }, true],
    [f('(0, 1)'), { call: 'f', args: '[1]', expected: { json: '[0, 1]' } }, true],
    [f('int(1e300)'), { value: 'f(1)', expected: { python: '1e300' } }, true],
    [f('-(2**53)'), { value: 'f(1)', expected: { python: '-float(2**53)' } }, true],
    [f('1 << 4_000_000'), { value: 'f(1)', expected: { python: '(1 << 4_000_000) + 1' } }, false],
    [
      f('{"a": 1.0, "b": [None, True]}'),
      { call: 'f', args: '[1]', expected: { json: '{"b": [null, true], "a": 1}' } },
      true,
    ],
    [f('10 ** 30'), { call: 'f', args: '[1]', expected: { json: `1${'0'.repeat(30)}` } }, true],
    [f('10 ** 30 + 1'), { call: 'f', args: '[1]', expected: { json: `1${'0'.repeat(30)}` } }, false],
    [f('float("nan")'), { call: 'f', args: '[1]', expected: { json: 'NaN' } }, false],
    [f('"1"'), { call: 'f', args: '[1]', expected: { json: '1' } }, false],
    [
      'class Solution:\n  def f(self, x): return x',
      { call: 'f', args: '[7]', expected: { json: '7' } },
      true,
    ],
    [f('x'), { call: 'g', args: '[7]', expected: { json: '7' } }, false],
    [f('{x, (1, 2)}'), { value: 'f(1)', expected: { python: 'set([1, (1, 2)])' } }, true],
    [f('(1, 2)'), { value: 'f(1)', expected: { python: '[1, 2]' } }, false],
    [f('(1, 0.3)'), { value: 'f(1)', expected: { python: '(1, 0.1 + 0.2)' } }, false],
    [f('(1, 0.3)'), { value: 'f(1)', expected: { python: '(1, 0.1 + 0.2)', tolerance: 1e-9 } }, true],
    [
      f('[1, {2: 0.3}]'),
      { value: 'f(1)', expected: { python: '[1, {2: 0.30001}]', tolerance: 1e-9 } },
      false,
    ],
    [f('{2: 0.3}'), { value: 'f(1)', expected: { python: '{2: 0.1 + 0.2}', tolerance: 1e-9 } }, true],
    [f('5'), { value: 'f(1)', expected: { python: 'float("inf")', tolerance: 1e-6 } }, false],
    [f('[1e400]'), { value: 'f(1)', expected: { python: '[float("inf")]', tolerance: 1e-6 } }, true],
    [f('10 ** 400'), { value: 'f(1)', expected: { python: '10 ** 401', tolerance: 1e-6 } }, false],
    [f('10 ** 400'), { value: 'f(1)', expected: { python: '[10 ** 400][0]', tolerance: 1e-6 } }, true],
    [
      f('10 ** 400'),
      { call: 'f', args: '[1]', expected: { json: `1${'0'.repeat(401)}`, tolerance: 1e-6 } },
      false,
    ],
    [f('x'), { check: 'assert f(1) == 1' }, true],
    [f('x'), { check: 'assert f(1) == 2' }, false],
  ]
  for (const [program, one, passed] of table)
    t.equal((await only(confined, program, one)).passed, passed, `${program} ${JSON.stringify(one)}`)
})

t.test('a name that programs need not import is no function of the program', { skip }, async (t) => {
  const tests: readonly ProgramCase[] = [
    { call: 'gcd', args: '[4, 6]', expected: { json: '2' } },
    { value: 'gcd(4, 6)', expected: { python: '2' } },
    { value: 'list(map(lambda x: gcd(x, 6), [4]))', expected: { python: '[2]' } },
    { check: 'assert gcd(4, 6) != 3' },
  ]
  const passed = async (program: string) =>
    (await run(confined, program, tests)).cases.map((one) => one.passed)
  t.same(await passed('pass'), [false, false, false, false])
  t.same(await passed('import math\nother = gcd(4, 6)'), [false, false, false, false])
  t.same(await passed('from math import gcd'), [true, true, true, true])
  t.same(await passed('def gcd(a, b): return a if b == 0 else gcd(b, a % b)'), [true, true, true, true])
})

t.test('a test whose expected value cannot be computed is no verdict', { skip }, async (t) => {
  const program = 'def f(x): return 1'
  const only = (python: string): ProgramCase[] => [{ value: 'f(1)', expected: { python } }]
  for (const python of ['undefined_name', '1 / 0', 'object()', 'float("nan")'])
    await t.rejects(run(confined, program, only(python)), { message: /cannot be computed/ }, python)
  await t.rejects(run(confined, program, only('1'), { setup: 'x = (' }), { message: /cannot be computed/ })
  t.equal((await run(confined, program, only('1'))).cases[0]?.passed, true)
})

t.test('a program that cheats does not pass', { skip }, async (t) => {
  const equal = 'class A(list):\n  def __eq__(self, other): return True\n'
  const table: readonly (readonly [string, string, ProgramCase])[] = [
    ['leaves early', 'import sys\nsys.exit(0)', { value: 'f(1)', expected: { python: '2' } }],
    ['leaves before the check', 'import os\nos._exit(0)', { check: 'assert False' }],
    [
      'equals everything',
      `${equal}def f(x): return A()`,
      { call: 'f', args: '[1]', expected: { json: '[2]' } },
    ],
    ['equals everything', `${equal}def f(x): return A()`, { value: 'f(1)', expected: { python: '[2]' } }],
    [
      'writes a result itself',
      'import os\nos.write(3, b"2")\nos._exit(0)\n',
      { call: 'f', args: '[1]', expected: { json: '[2]' } },
    ],
    [
      'writes the right value itself',
      'import os\nos.write(3, b"2")\nos._exit(0)\n',
      { value: 'f(1)', expected: { python: '2' } },
    ],
    ['leaves before a call that only has to end', 'import os\nos._exit(0)', { call: 'f', args: '[1]' }],
    ...['NaN', '1e999', '[', '\\xff'].map(
      (text) =>
        [
          'writes a result that is no JSON',
          `import os\nos.write(3, b"${text}")\nos._exit(0)\n`,
          { call: 'f', args: '[1]', expected: { json: '[2]' } },
        ] as const,
    ),
    [
      'writes a result that is nested deeper than any value',
      'import os\nos.write(3, b"[" * 900 + b"]" * 900)\nos._exit(0)\n',
      { value: 'f(1)', expected: { python: '[1]' } },
    ],
    [
      'prints line breaks to the limit, and a word after them',
      'print("\\n" * 1_000_000 + "y")',
      { stdin: '', expected: { exact: 'x' } },
    ],
    [
      'writes two results',
      'import os\ndef f(x):\n  os.write(3, b"2")\n  return 2',
      { call: 'f', args: '[1]', expected: { json: '2' } },
    ],
    [
      'replaces what encodes',
      'import json\njson.dumps = lambda *a: "2"\ndef f(x): return 1',
      { call: 'f', args: '[1]', expected: { json: '2' } },
    ],
    [
      'looks for what is expected',
      'import gc\nfor o in gc.get_objects():\n  if type(o) is str and "S3CR3T" in o: print(o)\nprint([o for o in gc.get_objects() if isinstance(o, dict) and "expected" in o])',
      { stdin: '', expected: { stdout: 'S3CR3T' } },
    ],
    [
      'looks for other inputs and outputs in the memory',
      'import gc\nprint([o for o in gc.get_objects() if "S3CR" + "3T" in repr(o)])\nprint("S3CR" + "3T" in open("/proc/self/mem", "rb").read())',
      { stdin: '', expected: { stdout: 'S3CR3T' } },
    ],
    [
      'looks into the frames',
      'import sys\nf = sys._getframe()\nwhile f:\n  print([v for v in f.f_locals.values() if isinstance(v, str)])\n  f = f.f_back',
      { stdin: '', expected: { stdout: 'S3CR3T' } },
    ],
  ]
  for (const [what, program, one] of table) t.equal((await only(confined, program, one)).passed, false, what)
})

/** Programs that print the word if they reach what they must not. */
const escapes: Readonly<Record<string, string>> = {
  'connects over TCP':
    'import socket\ntry: socket.create_connection(("127.0.0.1", 1), 1)\nexcept ConnectionRefusedError: pass\nprint("escaped")',
  'sends over UDP':
    'import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))\nprint("escaped")',
  'reads files': 'open("/etc/passwd").read()\nprint("escaped")',
  'lists folders': 'import os\nos.listdir("/etc")\nprint("escaped")',
  'reads packages and data beside the interpreter': `import os, sys
for top in (os.path.dirname(os.__file__) + "/site-packages", "/usr/lib/python3/dist-packages", "/usr/local", "/usr/src", "/usr/share/doc"):
  for folder, _, names in os.walk(top):
    for name in names:
      open(os.path.join(folder, name), "rb").read(1)
      print("escaped")
      sys.exit()`,
  'reads the programs of the machine': 'open("/usr/bin/env", "rb").read(1)\nprint("escaped")',
  'writes files': 'import tempfile\ntempfile.NamedTemporaryFile().write(b"x")\nprint("escaped")',
  'starts processes': 'import os\nif os.fork() == 0: os._exit(0)\nprint("escaped")',
  'starts programs': 'import subprocess\nsubprocess.run(["/bin/true"])\nprint("escaped")',
  'signals others': 'import os\nos.kill(os.getppid(), 0)\nprint("escaped")',
  'reads the environment of others':
    'import os\nopen(f"/proc/{os.getppid()}/environ").read()\nprint("escaped")',
  'makes files in memory': 'import os\nos.write(os.memfd_create("x"), b"x" * 1000)\nprint("escaped")',
}

t.test('a confined program reaches nothing', { skip }, async (t) => {
  for (const [what, program] of Object.entries(escapes))
    t.equal(
      (await only(confined, program, { stdin: '', expected: { stdout: 'escaped' } })).passed,
      false,
      what,
    )
  t.equal(
    (await only(confined, 'print(1)', { stdin: '', expected: { stdout: '1' } })).passed,
    true,
    'and others still run',
  )
})

t.test('an interpreter finds its own library at every level', { skip }, async (t) => {
  const folder = t.testdir({ python3: inContainer })
  chmodSync(join(folder, 'python3'), 0o755)
  const program = 'import colorsys, ctypes, decimal, lzma'
  for (const config of [{}, { python: join(folder, 'python3') }]) {
    const sandbox = open(config)
    if (!(await sandbox.open().catch(() => null))) continue
    const { ended, error } = await only(sandbox, program)
    t.same([ended, error], ['ok', ''], sandbox.snapshot().confinement?.text ?? '')
  }
})

t.test('a program starts threads, and not so many that the machine runs out of them', { skip }, async (t) => {
  const folder = t.testdir({ python3: inContainer })
  chmodSync(join(folder, 'python3'), 0o755)
  const threads = (count: number) => `import _thread, threading, time
threading.stack_size(65536)
for _ in range(${count}): _thread.start_new_thread(time.sleep, (2,))
time.sleep(0.3)
print("started", flush=True)
__import__("os")._exit(0)`
  const more = { limits: { ...limits, memoryMb: 2048 } }
  const one: ProgramCase = { stdin: '', expected: { stdout: 'started' } }
  for (const config of [{}, { python: join(folder, 'python3') }]) {
    const sandbox = open(config)
    if (!(await sandbox.open().catch(() => null))) continue
    const started = async (count: number) =>
      (await run(sandbox, threads(count), [one], more)).cases[0]?.passed
    const how = sandbox.snapshot().confinement?.text ?? ''
    t.same([await started(100), await started(400)], [true, false], how)
  }
  const unconfined = open({ isolation: 'unconfined' })
  t.equal((await run(unconfined, threads(400), [one], more)).cases[0]?.passed, true)
})

t.test('without confinement the same programs reach it, so the test can fail', { skip }, async (t) => {
  const unconfined = open({ isolation: 'unconfined' })
  for (const [what, program] of Object.entries(escapes))
    if (what !== 'makes files in memory')
      t.equal(
        (await only(unconfined, program, { stdin: '', expected: { stdout: 'escaped' } })).passed,
        true,
        what,
      )
})

/** Starts Python under the rules of Docker's default profile: no namespaces, no mounts. */
const inContainer = `#!/usr/bin/env python3
import ctypes, os, struct, sys
column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
refused = [(272, 97), (165, 40), (166, 39), (308, 268), (155, 41)]
code = [(0x20, 0, 0, 0)]
for numbers in refused:
    code += [(0x15, 0, 1, numbers[column]), (0x06, 0, 0, 0x00050001)]
code += [(0x15, 0, 1, 435), (0x06, 0, 0, 0x00050026)]
code += [(0x15, 0, 3, (56, 220)[column]), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7E020000), (0x06, 0, 0, 0x00050001)]
code += [(0x06, 0, 0, 0x7FFF0000)]
packed = b"".join(struct.pack("HBBI", *line) for line in code)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(Filter(len(code), packed)), 0, 0) != 0:
    sys.exit("no filter")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
`

t.test("under a container's profile, Landlock and seccomp confine alone", { skip }, async (t) => {
  const folder = t.testdir({ python3: inContainer })
  chmodSync(join(folder, 'python3'), 0o755)
  const sandbox = open({ python: join(folder, 'python3') })
  const refusal = await sandbox.open().catch((error: GatewayError) => error)
  if (refusal instanceof GatewayError) {
    t.match(refusal, { code: 'RG_CONFIG_INVALID', message: /no Landlock/ })
    t.comment('level landlock is absent: this kernel has no Landlock')
    return
  }
  t.match(refusal, { isConfined: true, text: /^programs run with Landlock and seccomp \(no namespaces/ })
  for (const [what, program] of Object.entries(escapes)) {
    const { passed } = await only(sandbox, program, { stdin: '', expected: { stdout: 'escaped' } })
    t.equal(passed, false, what)
  }
  t.ok((await only(sandbox, 'print(1)', { stdin: '', expected: { stdout: '1' } })).passed, 'others run')
})

t.test(
  'the level of the start holds: a process that reaches a lower one runs nothing',
  { skip },
  async (t) => {
    const either = `#!/bin/sh
here=$(dirname "$0")
test -e "$here/later" && exec "$here/container" "$@"
exec python3 "$@"
`
    const folder = t.testdir({ python3: either, container: inContainer })
    for (const name of ['python3', 'container']) chmodSync(join(folder, name), 0o755)
    const said: string[] = []
    const before = zygotes()
    const sandbox = open({ python: join(folder, 'python3') }, { ejected: ({ reason }) => said.push(reason) })
    const first = await sandbox.open()
    if (!first.text.startsWith('programs run in namespaces'))
      return t.comment('there is no level below this one')
    const one: ProgramCase = { stdin: '', expected: { stdout: '1' } }
    const request = {
      execution: { language: 'python', program: 'print(1)', cases: [one], limits } as const,
      ...soon(),
    }
    t.match(await sandbox.run(request), { result: { cases: [{ passed: true }] } })
    writeFileSync(join(folder, 'later'), '')
    for (const pid of zygotes().filter((pid) => !before.includes(pid))) process.kill(pid, 'SIGKILL')
    const lost = {
      failure: {
        kind: 'sandbox_unreachable',
        retryable: false,
        detail:
          /^no program runs until the gateway is restarted: .* only at the level '(?:landlock|none)', not 'namespaces'/,
      },
    }
    t.match(await sandbox.run(request), lost)
    rmSync(join(folder, 'later'))
    t.match(await sandbox.run(request), lost, 'until a restart, whatever comes later')
    t.match(sandbox.snapshot().instances, [{ state: 'ejected' }])
    t.equal(said.length, 1)
    t.match(said[0], lost.failure.detail)
  },
)

t.test('without Landlock, namespaces and seccomp confine alone', { skip }, async (t) => {
  const withoutLandlock = inContainer.replace(
    /^refused = .*$/m,
    'refused = [(call, call) for call in (444, 445, 446)]',
  )
  const folder = t.testdir({ python3: withoutLandlock })
  chmodSync(join(folder, 'python3'), 0o755)
  const sandbox = open({ python: join(folder, 'python3') })
  const refusal = await sandbox.open().catch((error: GatewayError) => error)
  if (refusal instanceof GatewayError) {
    t.match(refusal, { code: 'RG_CONFIG_INVALID', message: /no namespaces/ })
    t.comment('level namespaces is absent: this machine lets nobody make them')
    return
  }
  t.match(refusal, {
    isConfined: true,
    text: /^programs run in namespaces of their own, with seccomp \(no Landlock/,
  })
  for (const [what, program] of Object.entries(escapes)) {
    const { passed } = await only(sandbox, program, { stdin: '', expected: { stdout: 'escaped' } })
    t.equal(passed, false, what)
  }
  t.ok((await only(sandbox, 'print(1)', { stdin: '', expected: { stdout: '1' } })).passed, 'others run')
})

/** Reaches what it must not and prints the word, in one of these ways. One source: it is compiled once. */
const cppEscapes = `
  int way;
  if (scanf("%d", &way) != 1) return 1;
  if (way == 0) { FILE *f = fopen("/etc/passwd", "r"); char c; if (f && fread(&c, 1, 1, f) == 1) puts("escaped"); }
  if (way == 1) { FILE *f = fopen("/tmp/x", "w"); if (f && fputs("x", f) >= 0 && fclose(f) == 0) puts("escaped"); }
  if (way == 2) { pid_t child = fork(); if (child == 0) _exit(0); if (child > 0) puts("escaped"); }
  if (way == 3) execl("/bin/echo", "echo", "escaped", (char *)0);
  if (way == 4) { if (socket(AF_INET, SOCK_DGRAM, 0) >= 0) puts("escaped"); }
  if (way == 5) { if (kill(getppid(), 0) == 0) puts("escaped"); }
  if (way == 6) { FILE *f = fopen("/usr/bin/env", "r"); char c; if (f && fread(&c, 1, 1, f) == 1) puts("escaped"); }`
const thread = `require('fs').readFileSync('/etc/passwd')\nconsole.log('escaped')`
/** Programs in C++ and JavaScript that print the word if they reach what they must not, and their input. */
const nativeEscapes: readonly (readonly [string, ProgramLanguage, string, string?])[] = [
  ...[
    'reads files',
    'writes files',
    'starts processes',
    'starts programs',
    'opens sockets',
    'signals others',
    'reads the programs of the machine',
  ].map((what, way) => [what, 'cpp', cppEscapes, `${way}`] as const),
  ['reads files', 'javascript', thread],
  ['reads the programs of the machine', 'javascript', thread.replace('/etc/passwd', '/usr/bin/env')],
  ['writes files', 'javascript', 'require("fs").writeFileSync("/tmp/x", "x")\nconsole.log("escaped")'],
  [
    'starts programs',
    'javascript',
    'require("child_process").execFileSync("/bin/true")\nconsole.log("escaped")',
  ],
  [
    'starts programs by the binding',
    'javascript',
    'const { Process } = process.binding("process_wrap"), p = new Process()\nif (p.spawn({ file: "/bin/true", args: ["true"], stdio: [] }) === 0) console.log("escaped")',
  ],
  [
    'opens sockets',
    'javascript',
    'const s = require("dgram").createSocket("udp4")\ns.send("x", 9, "127.0.0.1", (e) => { if (!e) console.log("escaped"); s.close() })',
  ],
  [
    'reads files in a thread',
    'javascript',
    `new (require("worker_threads").Worker)(${JSON.stringify(thread)}, { eval: true }).on("error", () => {})`,
  ],
  ['signals others', 'javascript', 'process.kill(process.ppid, 0)\nconsole.log("escaped")'],
]
const cpp = (body: string) =>
  `#include <cstdio>\n#include <signal.h>\n#include <sys/socket.h>\n#include <unistd.h>\nint main() { ${body} }`
const native = (language: ProgramLanguage, program: string, stdin = '', expected = 'escaped') => ({
  language,
  program: language === 'cpp' && !program.includes('main') ? cpp(program) : program,
  cases: [{ stdin, expected: { stdout: expected } }],
})
const threadsInCpp = `#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
int main() {
  int n;
  if (scanf("%d", &n) != 1) return 1;
  std::atomic<int> ran{0};
  std::vector<std::thread> all;
  for (int at = 0; at < n; at++) all.emplace_back([&] { ran++; });
  for (auto &one : all) one.join();
  printf("%d", ran.load());
}`
const languages: readonly ProgramLanguage[] = ['python', 'cpp', 'javascript']
const withoutOthers = async (config: object = {}): Promise<string | false> =>
  skip ||
  open({ languages, ...config })
    .open()
    .then(() => false as const)
    .catch((error: GatewayError) => error.message)

t.test('C++ and JavaScript', { skip: await withoutOthers() }, async (t) => {
  const sandbox = open({ languages })
  const brief = { cpuSeconds: 1, wallSeconds: 3, memoryMb: 128 }
  t.match((await sandbox.open()).text, /Python [\d.]+, g\+\+ [\d.]+, Node [\d.]+$/)
  const ran = async (language: ProgramLanguage, program: string, stdin = '', expected = '', more = brief) => {
    const outcome = await sandbox.run({
      execution: { ...native(language, program, stdin, expected), limits: more },
      ...soon(),
    })
    if ('failure' in outcome) throw new Error(outcome.failure.detail)
    const { compiled, cases } = outcome.result
    return compiled ? `${cases[0]?.ended} ${cases[0]?.passed}` : 'does not compile'
  }
  const table: readonly (readonly [ProgramLanguage, string, string, string, string])[] = [
    [
      'cpp',
      '#include <bits/stdc++.h>\nint main() { int n; std::cin >> n; std::cout << n * 2; }',
      '21',
      '42',
      'ok true',
    ],
    ['cpp', 'puts("41");', '', '42', 'ok false'],
    ...Array.from({ length: 5 }, () => ['cpp', threadsInCpp, '8', '8', 'ok true'] as const),
    ['cpp', '#ifdef ONLINE_JUDGE\nint main() {}\n#endif', '', '', 'ok true'],
    ['cpp', '#include <bit>\nint main() { return std::popcount(0u); }', '', '', 'ok true'],
    ['cpp', 'return 3;', '', '', 'exit false'],
    ['cpp', 'while (1);', '', '', 'time false'],
    ['cpp', 'while (1) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");', '', '', 'output false'],
    ['cpp', '*(volatile int *)8 = 1;', '', '', 'signal false'],
    [
      'cpp',
      '#include <vector>\nint main() { std::vector<int> v; while (1) v.push_back(1); }',
      '',
      '',
      'memory false',
    ],
    ['cpp', 'int main( {', '', '', 'does not compile'],
    ['cpp', '#include "/etc/passwd"\nint main() {}', '', '', 'does not compile'],
    ['cpp', 'asm(".incbin \\"/etc/passwd\\""); int main() {}', '', '', 'does not compile'],
    ['cpp', 'asm(".incbin \\"/usr/bin/env\\""); int main() {}', '', '', 'does not compile'],
    ['cpp', '#include "/proc/self/environ"\nint main() {}', '', '', 'does not compile'],
    ['cpp', '#include "/dev/zero"\nint main() {}', '', '', 'does not compile'],
    ['cpp', 'int a[1 << 28] = {1}; int main() {}', '', '', 'does not compile'],
    ['cpp', '#include "program.cpp"\n#include "program.cpp"\nint main() {}', '', '', 'does not compile'],
    ['cpp', 'asm(".rept 1000000000\\n nop\\n .endr"); int main() {}', '', '', 'does not compile'],
    ['cpp', 'template <int N> struct A { A<N + 1> a; }; A<0> a; int main() {}', '', '', 'does not compile'],
    [
      'javascript',
      'console.log(require("fs").readFileSync("/dev/stdin", "utf8") * 2)',
      '21',
      '42',
      'ok true',
    ],
    [
      'javascript',
      'import { readFileSync } from "fs"\nconsole.log(readFileSync(0, "utf8") * 2)',
      '21',
      '42',
      'ok true',
    ],
    ['javascript', 'if (require.main === module) console.log(42)', '', '42', 'ok true'],
    ['javascript', 'process.stdin.on("data", (text) => console.log(text * 2))', '21', '42', 'ok true'],
    [
      'javascript',
      'function f(n) { return n && 1 + f(n - 1) }\nconsole.log(f(50000))',
      '',
      '50000',
      'ok true',
    ],
    ['javascript', 'console.log(', '', '', 'exit false'],
    ['javascript', 'throw new Error("no")', '', '', 'exit false'],
    ['javascript', 'while (true);', '', '', 'time false'],
    ['javascript', 'const a = []\nwhile (true) a.push(new Array(1e6).fill(0.5))', '', '', 'memory false'],
  ]
  for (const [language, program, stdin, expected, wanted] of table)
    t.equal(await ran(language, program, stdin, expected), wanted, program.slice(0, 60))

  await t.test('reach nothing', async (t) => {
    for (const [what, language, program, stdin] of nativeEscapes)
      t.notMatch(await ran(language, program, stdin, 'escaped'), /true$/, `${language} ${what}`)
  })
  await t.test('reach it without confinement, so the test can fail', async (t) => {
    const unconfined = open({ languages, isolation: 'unconfined' })
    for (const [what, language, program, stdin] of nativeEscapes) {
      const outcome = await unconfined.run({
        execution: { ...native(language, program, stdin), limits },
        ...soon(),
      })
      t.match(outcome, { result: { cases: [{ passed: true }] } }, `${language} ${what}`)
    }
  })
  await t.test('inherit nothing: no file of another program, no variable', async (t) => {
    const files = 'for (int fd = 3; fd < 1024; fd++) if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);'
    t.equal(await ran('cpp', `#include <fcntl.h>\n${cpp(files)}`, '', ''), 'ok true')
    const names = '#include <cstdio>\nint main(int, char **, char **e) { if (*e) puts(*e); }'
    t.equal(await ran('cpp', names, '', ''), 'ok true')
    t.equal(
      await ran('python', 'import os\nprint(set(os.environ) - {"PATH", "LD_BIND_NOW"})', '', 'set()'),
      'ok true',
    )
  })
  await t.test('a program is compiled once', async (t) => {
    const slow = `${'#include <bits/stdc++.h>\n'}int main() { puts("${Math.random()}"); }`
    const seconds = async () => {
      const began = process.hrtime.bigint()
      t.equal(await ran('cpp', slow), 'ok false')
      return Number(process.hrtime.bigint() - began)
    }
    const first = await seconds()
    t.ok((await seconds()) < first / 2)
  })
  await t.test('a language that the sandbox does not have is no verdict', async (t) => {
    const outcome = await confined.run({ execution: native('cpp', 'return 0;'), ...soon() })
    t.match(outcome, { failure: { kind: 'sandbox_unreachable', detail: /runs python; add 'cpp' to its/ } })
  })
})

t.test("C++ and JavaScript under a container's profile", { skip: await withoutOthers() }, async (t) => {
  const folder = t.testdir({ python3: inContainer })
  chmodSync(join(folder, 'python3'), 0o755)
  const sandbox = open({ languages, python: join(folder, 'python3') })
  if ((await sandbox.open().catch(() => null)) === null) {
    t.comment('level landlock is absent: this kernel has no Landlock')
    return
  }
  t.match(sandbox.snapshot().confinement?.text, /^programs run with Landlock and seccomp .*Node/)
  for (const [what, language, program, stdin] of nativeEscapes) {
    const outcome = await sandbox.run({
      execution: { ...native(language, program, stdin), limits },
      ...soon(),
    })
    t.match(outcome, { result: { cases: [{ passed: false }] } }, `${language} ${what}`)
  }
  const works = native('cpp', 'puts("42");', '', '42')
  t.match(await sandbox.run({ execution: works, ...soon() }), { result: { cases: [{ passed: true }] } })
})

/** Writes what it reads, and then looks for the word with four digits behind it in all of its memory. */
const search = `import ctypes, gc, os, sys
given = sys.stdin.read()
sys.stderr.write(given)
sys.stdout.write(given)
there, here = os.pipe()
write = ctypes.CDLL(None).write
write.argtypes, write.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_ssize_t
found = 0
for start in sorted({id(one) >> 20 for one in [given, *gc.get_objects()]}):
  for page in range(start << 20, start + 1 << 20, 4096):
    count = write(here, page, 4096)
    text = os.read(there, count) if count > 0 else b""
    found += sum(piece[:4] == b"1234" for piece in text.split(b"S3CR3T")[1:])
print("found" if found else "nothing")`

t.test('a case knows nothing of the cases before it', { skip }, async (t) => {
  const program =
    'import builtins\nseen = getattr(builtins, "seen", 0)\nbuiltins.seen = seen + 1\nprint(seen)'
  const same = { stdin: '', expected: { stdout: '0' } }
  const { cases } = await run(confined, program, [same, same, same])
  t.same(
    cases.map(({ passed }) => passed),
    [true, true, true],
  )
  const secret = 'S3CR3T1234 '.repeat(100)
  const looking: readonly ProgramCase[] = [
    { stdin: secret, expected: { stdout: `${secret}found` } },
    { stdin: '', expected: { stdout: 'nothing' } },
  ]
  const second = await run(confined, search, looking)
  t.same(
    second.cases.map(({ passed }) => passed),
    [true, true],
    'not by looking for it in its memory either, where the first one finds its own input',
  )
})

t.test('first_failure stops there, and never runs all', { skip }, async (t) => {
  const cases = ['1', '2', '3'].map((text) => ({ stdin: text, expected: { stdout: '1' } }))
  const first = await run(confined, 'print(input())', cases, { stop: 'first_failure' })
  t.same(
    first.cases.map(({ passed }) => passed),
    [true, false],
  )
  const all = await run(confined, 'print(input())', cases)
  t.same(
    all.cases.map(({ passed }) => passed),
    [true, false, false],
  )
})

t.test('a process that dies costs no verdict, and one that always dies is no zero', { skip }, async (t) => {
  const before = zygotes()
  const sandbox = open()
  const slow = { stdin: '', expected: { stdout: 'done' } }
  const running = sandbox.run({
    execution: { language: 'python', program: 'print("done")', cases: [slow], limits },
    ...soon(),
  })
  await new Promise(setImmediate)
  const [started = 0, ...others] = zygotes().filter((pid) => !before.includes(pid))
  t.same([started > 0, others], [true, []])
  process.kill(started, 'SIGKILL')
  const outcome = await running
  t.ok('result' in outcome && outcome.result.cases[0]?.passed, 'the program ran again in a new process')
  const broken = open({ python: '/nonexistent/python3' })
  const lost = await broken.run({ execution: { language: 'python', program: '', cases: [slow] }, ...soon() })
  t.match(lost, { failure: { kind: 'sandbox_unreachable', retryable: true } })
  await t.rejects(broken.greeting(), { code: 'RG_CONFIG_INVALID' })
})

t.test('a request that ends takes its program with it, waiting or running', { skip }, async (t) => {
  const sandbox = open()
  const endless: Execution = {
    language: 'python',
    program: 'while True: pass',
    cases: [{ stdin: '' }],
    limits: { cpuSeconds: 60, wallSeconds: 60 },
  }
  const client = new AbortController()
  const running = sandbox.run({
    execution: endless,
    deadline: systemClock.now() + 60_000,
    signal: client.signal,
  })
  const waiting = sandbox.run({
    execution: endless,
    deadline: systemClock.now() + 100,
    signal: new AbortController().signal,
  })
  t.match(await waiting, { failure: { kind: 'deadline' } })
  client.abort()
  t.match(await running, { failure: { kind: 'cancelled' } })
  t.same((await run(sandbox, 'print(1)', [{ stdin: '', expected: { stdout: '1' } }])).cases.length, 1)
  t.same(sandbox.load, { running: 0, waiting: 0, size: 1 })
})

t.test('sandboxes of one gateway share its cores, and take turns', { skip }, async (t) => {
  const local = localConfig.parse({ programs: 1 })
  const sandboxes = new Sandboxes({ one: local, two: local }, { clock: systemClock, events: {}, env: {} })
  t.teardown(() => sandboxes.close())
  const later = sandboxes.next({ two: local, three: local })
  t.teardown(() => later.close())
  const ended: string[] = []
  const start = (name: string, program: string, signal = new AbortController().signal) =>
    later
      .run(name, {
        execution: { language: 'python', program, cases: [{ stdin: '', expected: { stdout: '1' } }], limits },
        deadline: systemClock.now() + 60_000,
        signal,
      })
      .then((outcome) => {
        ended.push(name)
        return 'result' in outcome && outcome.result.cases[0]?.passed
      })
  const load = () => later.snapshot().map(({ waiting, instances: [here] }) => [here?.inFlight, waiting])
  const client = new AbortController()
  const first = start('two', 'while True: pass', client.signal)
  const rest = ['two', 'two', 'three', 'three'].map((name) => start(name, 'print(1)'))
  t.same(load(), [
    [1, 2],
    [0, 2],
  ])
  client.abort()
  await first
  t.same(await Promise.all(rest), [true, true, true, true])
  t.same(ended, ['two', 'two', 'three', 'two', 'three'])
  t.same(load(), [
    [0, 0],
    [0, 0],
  ])
})

t.test('a storm of programs, a tenth of them hostile: every verdict is right', { skip }, async (t) => {
  const sandbox = open({ programs: 2 })
  const bad = [
    'while True: pass',
    'while True: print("x" * 1000)',
    'import os\nwhile True: os.fork()',
    'x = []\nwhile True: x.append("a" * 10**6)',
  ]
  const short = { cpuSeconds: 1, wallSeconds: 1, memoryMb: 128 }
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const isBad = at % 10 === 3
      const program = isBad ? (bad[((at / 10) % bad.length) | 0] as string) : `print(${at})`
      const { cases } = await run(sandbox, program, [{ stdin: '', expected: { stdout: `${at}` } }], {
        limits: short,
      })
      return cases[0]?.passed === !isBad
    }),
  )
  t.ok(outcomes.every(Boolean))
  t.same(sandbox.load, { running: 0, waiting: 0, size: 2 })
})
