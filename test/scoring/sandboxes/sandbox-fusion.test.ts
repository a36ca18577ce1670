import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import type { ProgramCase } from '../../../src/contract/execution.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { PooledSandbox } from '../../../src/scoring/sandboxes/pooled-sandbox.ts'
import { serversConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
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
    const tag = /json\.loads\(.*\), "([0-9a-f-]{36})"/.exec((seen.body as { code: string }).code)?.[1] ?? ''
    const answer = answers(tag, seen)
    if (typeof answer === 'number') json(response, { detail: 'x' }, answer)
    else json(response, answer)
  })
  server.healthy = true
  const config = serversConfig.parse({
    backend: 'sandbox-fusion',
    instances: [server.url],
    retry: { max: 0 },
    health: { interval_s: 0 },
  })
  const sandbox = new PooledSandbox('fusion', config, { clock: systemClock, events: {}, env: {} })
  t.teardown(async () => {
    sandbox.close()
    await server.kill()
  })
  return { sandbox, server }
}

const runOn = (sandbox: PooledSandbox, cases: readonly ProgramCase[], program = 'print(1)') =>
  sandbox.run({
    execution: { language: 'python', program, cases, limits: { wallSeconds: 1 } },
    deadline: systemClock.now() + 10_000,
    signal: new AbortController().signal,
  })
const one = (stdout: string): ProgramCase => ({ stdin: 'x', expected: { stdout } })
const long = 'x'.repeat(70_000)

t.test("the candidate's end is a verdict, and the service's is none", async (t) => {
  const verdicts: readonly (readonly [string, Answers, ProgramCase, string, boolean])[] = [
    ['right', ends(0, '1'), one('1'), 'ok', true],
    ['wrong', ends(0, '2'), one('1'), 'ok', false],
    ['an exception', ends(241, '1', 'KeyError: 1'), one('1'), 'exception', false],
    ['memory', ends(242, ''), one('1'), 'memory', false],
    ['an exit code', ends(3, '1'), one('1'), 'exit', false],
    ['a signal', () => finished(-11, ''), one('1'), 'signal', false],
    ['time', () => late('1'), one('1'), 'time', false],
    ['a flood where little is expected', () => late(long), one('1'), 'time', false],
    ['bytes that are no text', () => finished(0, "[DecodeError] 'utf-8'", 'TAG'), one('1'), 'ok', false],
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
    ['a long output that it cannot read', () => late(long), long.repeat(8), 'sandbox_timeout'],
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
  t.match(server.seen[0]?.body, { language: 'python', stdin: 'x', run_timeout: 1 })
  t.notMatch(JSON.stringify(server.seen[0]?.body), /stdout.{0,5}:/, 'what a case expects is not sent')
})

t.test(
  'the code that is sent runs a program as the local sandbox does',
  { skip: withoutPython },
  async (t) => {
    const { sandbox } = await sandboxOf(t, (tag, { body }) => {
      const { code, stdin } = body as { code: string; stdin: string }
      try {
        return finished(
          0,
          execFileSync('python3', ['-c', code], { input: stdin, encoding: 'utf8', stdio: 'pipe' }),
          tag,
        )
      } catch (error) {
        const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string }
        return finished(status, stdout, stderr)
      }
    })
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
