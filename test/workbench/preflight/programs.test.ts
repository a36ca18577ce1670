import t from 'tap'
import { namedFindings, openLook } from '../../support/preflight.ts'
import { withoutSandbox } from '../../support/sandbox.ts'

const look = await openLook(t)

t.test(
  'right answers of code are run, and tests that test nothing are named',
  {
    skip: await withoutSandbox(),
  },
  async (t) => {
    const step = { name: 'tests', function: 'code-tests', sandbox: 'local', options: { limit_s: 1 } }
    const row = (prompt: string, answer: string | null, ground_truth: unknown) => ({
      prompt,
      data_source: 'apps',
      ground_truth,
      extra_info: answer === null ? {} : { answer, near_miss: '```python\nprint(0)\n```' },
    })
    const next = 'print(int(input()) + 1)'
    const lists = { inputs: ['41', '1234567'], outputs: ['42', '1234568'] }
    const humanEval = { test: 'def check(c):\n    assert c(1) > 1\n', entry_point: 'f' }
    const rows = [
      row('Add 1. It is a fine day.', next, lists),
      row('Add 1 to the number.', 'print(5)', lists),
      row('Print nothing at all.', 'print()', { inputs: ['5', '6'], outputs: ['', ''] }),
      row('Print nothing whatever is given.', null, { inputs: ['5'], outputs: [''] }),
      row('Add 1: 1234567 becomes 1234568.', `\`\`\`python\n${next}\n\`\`\``, lists),
      row('Add 1 in time.', 'while True: pass', lists),
      row('Be more than 1.', 'def f(x): return x + 1', humanEval),
    ]
    const report = await look({ steps: [step] }, rows, { sandboxes: { local: { programs: 1 } } })
    t.strictSame(namedFindings(report), [
      'gold-not-paid 2 6',
      'empty-program-paid 3 4',
      'slow-reference 6',
      'tests-in-prompt 5',
      'weak-tests 7',
      'no-gold ',
    ])
  },
)
