import { deflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { ProgramCase, ProgramLimits } from '../../../src/contract/execution.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { PooledSandbox } from '../../../src/scoring/sandboxes/pooled-sandbox.ts'
import { fusionServer, sandboxAt } from '../../support/fusion.ts'
import { withoutPython } from '../../support/python.ts'
import { json, type Seen, scriptedServer } from '../../support/scripted-server.ts'

/** How SandboxFusion answers: its status follows from how the process ended. `tag`: what ends both streams. */
type Answers = (tag: string, seen: Seen) => unknown

const finished = (code: number, stdout: string, stderr = ''): object => ({
  status: code === 0 ? 'Success' : 'Failed',
  message: '',
  compile_result: null,
  run_result: { status: 'Finished', execution_time: 0.05, return_code: code, stdout, stderr },
  executor_pod_name: null,
  files: {},
})
/** The text that comes back with a value. */
const givesIn = ({ text }: Seen): string => /gives[\\": ]+([0-9a-f-]{36})/.exec(text)?.[1] ?? ''
const late = (stdout: string): object => ({
  status: 'Failed',
  message: '',
  run_result: { status: 'TimeLimitExceeded', execution_time: 1.001, return_code: null, stdout, stderr: '' },
})
const ends =
  (code: number, printed: string, said = '', value = '') =>
  (tag: string) =>
    finished(code, `${printed}\n${tag} ${value}\n`, `${said}${tag}`)

async function sandboxOf(t: Test, answers: Answers) {
  const server = await scriptedServer((seen, response) => {
    const tag =
      /json\.loads\(.*\), "([0-9a-f-]{36})", \d+/.exec((seen.body as { code: string }).code)?.[1] ?? ''
    const answer = answers(tag, seen)
    if (typeof answer === 'number') json(response, { detail: 'x' }, answer)
    else json(response, answer)
  })
  server.healthy = true
  const sandbox = sandboxAt(t, server)
  return { sandbox, server }
}

/** A server that runs what it gets. */
async function running(t: Test, more: object = {}) {
  const server = await fusionServer()
  const sandbox = sandboxAt(t, server, more)
  return { sandbox, server }
}

const runOn = (
  sandbox: PooledSandbox,
  cases: readonly ProgramCase[],
  program = 'print(1)',
  limits: ProgramLimits = {},
) =>
  sandbox.run({
    execution: { language: 'python', program, cases, limits: { wallSeconds: 8, ...limits } },
    deadline: systemClock.now() + 60_000,
    signal: new AbortController().signal,
  })
const one = (stdout: string): ProgramCase => ({ stdin: 'x', expected: { stdout } })
const long = 'x'.repeat(70_000)
const packed = (text: string): string => deflateSync(text).toString('base64')

t.test("the candidate's end is a verdict, and the service's is none", async (t) => {
  const verdicts: readonly (readonly [string, Answers, ProgramCase, string, boolean])[] = [
    ['right', ends(0, '1'), one('1'), 'ok', true],
    ['wrong', ends(0, '2'), one('1'), 'ok', false],
    ['an exception', ends(241, '1', 'KeyError: 1'), one('1'), 'exception', false],
    ['memory', ends(242, ''), one('1'), 'memory', false],
    ['an exit code', ends(3, '1'), one('1'), 'exit', false],
    ['a signal', () => finished(-11, ''), one('1'), 'signal', false],
    ['time', () => late('1'), one('1'), 'time', false],
    ['a flood where little is expected', ends(247, ''), one('1'), 'output', false],
    ['more output than it may write', ends(246, '1'), one('1'), 'output', false],
    ['a signal of the program', ends(245, '1'), one('1'), 'signal', false],
    [
      'packed output',
      (tag) => finished(0, `${packed('1')}\n${tag}z ${packed('')}\n`, tag),
      one('1'),
      'ok',
      true,
    ],
    [
      'output that is packed by another',
      (tag) => finished(0, `x\n${tag}z y\n`, tag),
      one('1'),
      'tampered',
      false,
    ],
    [
      'a bomb',
      (tag) => finished(0, `${packed('1'.repeat(1 << 23))}\n${tag}z \n`, tag),
      one('1'),
      'tampered',
      false,
    ],
    [
      'bytes of another that are no text',
      () => finished(0, "[DecodeError] 'utf-8'", 'TAG'),
      one('1'),
      'tampered',
      false,
    ],
    [
      'the same in both streams',
      () => finished(0, '[DecodeError] x', '[DecodeError] x'),
      one('1'),
      'tampered',
      false,
    ],
    [
      'a value',
      ends(0, 'noise', '', '["GIVES",[1, 2]]'),
      { call: 'f', args: '[]', expected: { json: '[1, 2]' } },
      'ok',
      true,
    ],
    [
      'a value that is nested deeper than any',
      ends(0, '', '', `["GIVES",${'['.repeat(50_000)}1${']'.repeat(50_000)}]`),
      { value: 'f(1)', expected: { exact: '' } },
      'tampered',
      false,
    ],
    [
      'a value that the program wrote itself',
      ends(0, '', '', '[1, 2]'),
      { call: 'f', args: '[]', expected: { json: '[1, 2]' } },
      'tampered',
      false,
    ],
    ['no function', ends(243, ''), { call: 'f', args: '[]', expected: { json: '1' } }, 'missing', false],
  ]
  for (const [what, answers, wanted, ended, passed] of verdicts) {
    const given: Answers = (tag, seen) =>
      JSON.parse(
        JSON.stringify(answers(tag, seen))
          .replace('"TAG"', JSON.stringify(tag))
          .replace('GIVES', givesIn(seen)),
      )
    const { sandbox } = await sandboxOf(t, given)
    t.match(await runOn(sandbox, [wanted]), { result: { compiled: true, cases: [{ ended, passed }] } }, what)
  }
  const { sandbox } = await sandboxOf(t, ends(244, ''))
  t.match(await runOn(sandbox, [one('1')]), { result: { compiled: false, cases: [] } })

  const failures: readonly (readonly [string, Answers, string, string])[] = [
    ['SandboxError', () => ({ ...finished(0, ''), status: 'SandboxError' }), '1', 'sandbox_unreachable'],
    [
      'an error within',
      () => ({ status: 'Failed', run_result: { status: 'Error', stderr: 'x' } }),
      '1',
      'sandbox_unreachable',
    ],
    ['an unknown status', () => ({ status: 'Mystery' }), '1', 'sandbox_unreachable'],
    ['no run_result', () => ({ status: 'Success', run_result: null }), '1', 'sandbox_unreachable'],
    ['an unknown language', () => 422, '1', 'sandbox_unreachable'],
    ['500', () => 500, '1', 'sandbox_unreachable'],
    ['a lost output', () => finished(0, ''), '1', 'sandbox_unreachable'],
    ['a cut output', (tag) => finished(0, '1', tag), '1', 'sandbox_unreachable'],
    [
      'no Python there',
      () => finished(127, '', 'bash: python: command not found'),
      '1',
      'sandbox_unreachable',
    ],
    ['a long output that it cannot carry', ends(247, ''), long.repeat(8), 'sandbox_timeout'],
    ['429', () => 429, '1', 'overloaded'],
  ]
  for (const [what, answers, wanted, kind] of failures) {
    const { sandbox } = await sandboxOf(t, answers)
    t.match(await runOn(sandbox, [one(wanted)]), { failure: { kind } }, what)
  }
})

t.test('one case lost to the service makes the whole program invalid', async (t) => {
  let requests = 0
  const { sandbox, server } = await sandboxOf(t, (tag) => {
    requests += 1
    return requests === 3 ? 500 : ends(0, '1')(tag)
  })
  t.match(
    await runOn(
      sandbox,
      Array.from({ length: 5 }, () => one('1')),
    ),
    {
      failure: { kind: 'sandbox_unreachable' },
    },
  )
  t.match(server.seen[0]?.body, { language: 'python', stdin: 'x', run_timeout: 8 })
  t.notMatch(JSON.stringify(server.seen[0]?.body), /stdout.{0,5}:/, 'what a case expects is not sent')
})

t.test(
  'the code that is sent runs a program as the local sandbox does',
  { skip: withoutPython },
  async (t) => {
    const { sandbox } = await running(t)
    const table: readonly (readonly [string, ProgramCase, object])[] = [
      ['print(int(input()) * 2)', { stdin: '21', expected: { stdout: '42' } }, { ended: 'ok', passed: true }],
      ['print("é😀\\n")', { stdin: '', expected: { stdout: 'é😀' } }, { passed: true }],
      ['import os\nprint(4, flush=True)\nos._exit(0)', one('4'), { passed: true }],
      [
        'def f(x): return (x, {1: 2})',
        { value: 'f(1)', expected: { python: '(1, {1: 2})' } },
        { passed: true },
      ],
      ['def f(x): return x', { check: 'assert f(1) == 2' }, { ended: 'exception', passed: false }],
      ['import sys\nsys.exit(0)', { check: 'assert False' }, { passed: false }],
      ['pass', { value: 'gcd(4, 6)', expected: { python: 'math.gcd(4, 6)' } }, { passed: false }],
      [
        'from math import gcd',
        { value: 'gcd(4, 6)', expected: { python: 'math.gcd(4, 6)' } },
        { passed: true },
      ],
    ]
    for (const [program, wanted, result] of table)
      t.match(await runOn(sandbox, [wanted], program), { result: { cases: [result] } }, program)
  },
)

/** Stops the process that watches it. */
const stopped = 'import os\nos.kill(os.getppid(), 19)'
/** Programs that try to make the server look broken, with how they end. */
const hostile: readonly (readonly [string, RegExp])[] = [
  ['import posix\nposix._exit(0)', /^ok$/],
  ['import os\nos._exit(7)', /^exit$/],
  ['import os\nos._exit(244)', /^exit$/],
  ['import os\nos.close(2)\nprint(42)', /^ok$/],
  ['import os\nos.close(1)\nos.close(2)', /^ok$/],
  ['import os\nfor fd in range(256):\n  try: os.close(fd)\n  except OSError: pass\nos._exit(0)', /^ok$/],
  ['import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\nos.dup2(1, 2)\nprint(42)', /^ok$/],
  ['import os\nos.write(1, b"\\xff\\xfe")\nos.write(2, b"\\xff")', /^ok$/],
  ['import os\nos.kill(os.getpid(), 9)', /^signal$/],
  ['import os\nos.kill(0, 15)', /^signal$/],
  ['import os\nos.kill(os.getppid(), 2)\nprint(42)', /^ok$/],
  ['import os\nos.kill(os.getppid(), 9)', /^signal$/],
  ['import os\nos.kill(os.getppid(), 15)', /^signal$/],
  [stopped, /^time$/],
  ['import ctypes\nctypes.string_at(0)', /^signal$/],
  ['while True: print("x" * 1000)', /^output$/],
  ['import random\nprint(random.randbytes(400_000).hex())', /^output$/],
  [
    'import os, sys\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    import time\n    time.sleep(60)\n  os._exit(0)\nprint(42)',
    /^ok$/,
  ],
  [
    'import sys\nf = sys._getframe()\nwhile f:\n  f.f_globals.clear() if f.f_back is None else None\n  f = f.f_back\nprint(42)',
    /./,
  ],
  ['import os, sys\nos.execv(sys.executable, [sys.executable, "-c", "print(42)"])', /^ok$/],
  ['raise SystemExit(248)', /^exit$/],
]

t.test(
  "nothing that a program does to its process is the server's fault",
  { skip: withoutPython },
  async (t) => {
    const { sandbox, server } = await running(t, { breaker: { failures: 3 } })
    const limits = { wallSeconds: 20, memoryMb: 512 }
    const call: ProgramCase = { value: 'f(1)', expected: { holds: '_ == 2' } }
    for (const [program, ended] of hostile) {
      const brief = program === stopped ? { ...limits, wallSeconds: 2 } : limits
      const outcome = await runOn(sandbox, [one('42'), call], program, brief)
      t.match(outcome, { result: { cases: [{ ended }, { passed: false }] } }, program)
    }
    t.same(
      sandbox.snapshot().instances.map(({ state, errors }) => [state, errors]),
      [['ready', 0]],
    )
    t.match(await runOn(sandbox, [one('42')], 'print(42)', limits), { result: { cases: [{ passed: true }] } })
    t.ok(server.seen.length > 40)
  },
)

t.test(
  'a long output is carried, and one that the server cannot carry is no verdict',
  { skip: withoutPython },
  async (t) => {
    const { sandbox } = await running(t)
    const limits = { wallSeconds: 20 }
    const numbers = Array.from({ length: 30_000 }, (_, at) => `${at}`).join('\n')
    const counting = 'for n in range(30_000): print(n)'
    t.match(await runOn(sandbox, [one(numbers)], counting, limits), { result: { cases: [{ passed: true }] } })
    t.match(await runOn(sandbox, [one(`${numbers}1`)], counting, limits), {
      result: { cases: [{ passed: false, ended: 'ok' }] },
    })
    const noise = 'import random\nprint(random.randbytes(400_000).hex())'
    t.match(await runOn(sandbox, [one('0'.repeat(800_000))], noise, limits), {
      failure: { kind: 'sandbox_timeout' },
    })
    t.same(
      sandbox.snapshot().instances.map(({ state }) => state),
      ['ready'],
    )
    const long: ProgramCase = { value: 'f(1)', expected: { python: 'list(range(30_000))' } }
    t.match(await runOn(sandbox, [long], 'def f(x): return list(range(30_000))', limits), {
      result: { cases: [{ passed: true }] },
    })
  },
)
