import { join } from 'node:path'
import t from 'tap'
import type { Json } from '../../../src/core/sample/sample.ts'
import { readAuditRows } from '../../../src/workbench/audit/attack.ts'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { programAttacks } from '../../../src/workbench/audit/catalogue/programs.ts'
import { findingsOf } from '../../../src/workbench/audit/findings.ts'
import { testGateway } from '../../support/gateway.ts'
import { withoutSandbox } from '../../support/sandbox.ts'

const step = { name: 'tests', function: 'code-tests', sandbox: 'local' }
const code = (text: string): string => `\`\`\`python\n${text}\n\`\`\``
const row = (id: string, prompt: string, response: string, groundTruth: Json) => ({
  sample: { id, prompt, response, groundTruth, rmPrompts: {}, extraInfo: {} },
  nearMisses: [],
})
const rows = [
  row('asserts', 'Add.', code('def add(a, b): return a + b'), ['assert add(1, 2) == 3']),
  row('function', 'Pair.', code('def two(n): return [n, n]'), {
    inputs: ['1', '2'],
    outputs: ['[1, 1]', '[2, 2]'],
    fn_name: 'two',
  }),
  row('stdin', 'Print n + 1. Example: 41', code('print(int(input()) + 1)'), {
    inputs: ['41', '7'],
    outputs: ['42', '8'],
  }),
  row('text', 'Say b.', 'b', 'b'),
  row('near', 'Halve.', code('def half(x): return x / 2'), [
    'assert abs(half(5) - 2.5) < 1e-6',
    'assert round(half(5) - 2.5, 5) == 0',
    'assert isclose(half(5), 2.5) == True',
  ]),
  row('named', 'The gcd of two numbers.', code('from math import gcd'), [
    'assert 6 == gcd(12, 18) + 0',
    'assert 1 == gcd(3, gcd(4, 5))',
  ]),
  row('helped', 'Add.', code('def add(a, b): return a + b'), {
    test_list: ['assert same(add(1, 2), 3)'],
    test_setup_code: 'def same(a, b): return a == b',
  }),
]

t.test(
  'a reward that pays hacks of code is found, and code-tests pays none',
  {
    skip: await withoutSandbox(),
  },
  async (t) => {
    const gateway = await testGateway(t, {
      gateway: { sandboxes: { local: { programs: 1 } } },
      strict: { steps: [{ ...step, options: { limit_s: 1 } }] },
      share: { steps: [{ ...step, options: { limit_s: 1, score: 'share' } }] },
      published: { steps: [{ ...step, options: { mode: 'published' } }] },
    })
    const paid = async (reward: string, attacks = programAttacks) => {
      const { signal } = new AbortController()
      const found = await audit(gateway, {
        reward,
        rows: rows.filter(({ sample }) => sample.id !== 'text'),
        signal,
        attacks,
      })
      return findingsOf(found)
        .attacks.filter(({ successes }) => successes > 0)
        .map(({ name }) => name)
    }
    t.strictSame(await paid('strict'), [])
    t.strictSame(
      await paid(
        'share',
        programAttacks.filter(({ id }) => /prompt|empty/.test(id)),
      ),
      ['program/hard-coded examples of the prompt'],
    )
    const weak = await paid(
      'published',
      programAttacks.filter(({ id }) => id.endsWith('equals everything')),
    )
    for (const name of ['an object that equals everything', 'a list that equals everything'])
      t.ok(weak.includes(`program/${name}`), name)
  },
)

t.test('right answers of a data set have no fence, and are read all the same', async (t) => {
  const folder = t.testdir({
    'rows.jsonl': [
      {
        prompt: 'Add.',
        ground_truth: ['assert add(1, 2) == 3'],
        extra_info: { answer: 'def add(a, b): return a + b' },
      },
      {
        prompt: 'Sub.',
        ground_truth: ['assert sub(1, 2) == -1'],
        extra_info: { answer: code('def sub(a, b): return a - b') },
      },
    ]
      .map((one) => JSON.stringify(one))
      .join('\n'),
  })
  const gateway = await testGateway(t, {
    gateway: { sandboxes: { local: { programs: 1 } } },
    strict: { steps: [step] },
    bare: { steps: [{ ...step, options: { fence: 'none' } }] },
    text: { steps: [{ name: 'a', function: 'exact-match' }] },
  }).catch((error: Error) => error)
  if (gateway instanceof Error) return t.comment(gateway.message)
  const read = async (reward: string) => {
    const rows = await readAuditRows(join(folder, 'rows.jsonl'), process.stdin, 9, gateway.reward(reward))
    return rows.map(({ sample }) => sample.response)
  }
  const bare = 'def add(a, b): return a + b'
  const fenced = code('def sub(a, b): return a - b')
  t.strictSame(await read('strict'), [code(bare), fenced])
  t.strictSame(await read('bare'), [bare, fenced])
  t.strictSame(await read('text'), [bare, fenced])
})

t.test('programs are written only for rows whose tests run programs', async (t) => {
  const made = (at: number) => {
    const { sample } = rows[at] as (typeof rows)[number]
    const subject = { sample, prompt: sample.prompt, truth: null, wrong: null, near: null, nears: [] }
    return programAttacks.flatMap(({ make }) => make(subject) ?? [])
  }
  t.strictSame(made(3), [])
  t.ok(made(0).length > 10 && made(1).length > 10 && made(2).length > 8)
  t.ok(made(0).some((text) => text.includes('def add(')))
})
