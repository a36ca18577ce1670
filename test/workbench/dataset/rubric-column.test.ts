import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { rubricOf } from '../../../src/grading/index.ts'
import { samplesOf } from '../../../src/workbench/dataset/samples.ts'
import { runCommand } from '../../support/command-line.ts'
import { simulated } from '../../support/simulated.ts'

const bench = [{ criterion: 'It is right.', points: 5 }]
const messages = [{ role: 'user', content: 'What is two and two?' }]
const read = (row: object) => samplesOf({ value: row as never, literals: [] }, 0, [])[0]

t.test('rows of published data sets are read as they stand, with their column of a rubric', async (t) => {
  const rows: readonly (readonly [row: object, form: string, size: number])[] = [
    [{ prompt: messages, rubrics: bench, prompt_id: 'x', example_tags: ['theme:x'] }, 'healthbench', 1],
    [
      {
        question: 'What?',
        reference_answer: '4',
        rubric: [{ title: 'Says 4', description: 'Essential Criteria: ...', weight: 5 }],
        rubric_list: ['Says 4'],
        rubric_count: 1,
      },
      'rar',
      1,
    ],
    [
      {
        query: 'What?',
        rubrics: [{ description: 'd', weight: 1, title: 't' }],
        rubrics_types: ['persistent'],
      },
      'open_instruct',
      1,
    ],
    [{ prompt: 'What?', rubrics: [{ description: 'd', weight: 1, title: 't' }] }, 'open_instruct', 1],
    [{ prompt: 'What?', rubric: [{ question: 'Is it?', pass_criteria: 'YES' }] }, 'multichallenge', 1],
    [{ prompt: 'What?', rubrics: JSON.stringify(bench), rubric: null }, 'healthbench', 1],
    [{ prompt: 'What?', ground_truth: '4', rubrics: bench }, 'healthbench', 1],
  ]
  for (const [row, form, size] of rows) {
    const sample = read({ response: 'It is 4.', ...row })
    if (!sample || 'failure' in sample) return void t.fail(JSON.stringify(sample))
    t.ok(sample.prompt.length > 0, `${form}: it has a prompt`)
    const rubric = rubricOf(sample)
    t.match(rubric, { form, criteria: { length: size } }, JSON.stringify(row))
  }
  const kept = read({ response: 'a', rubrics: bench, group_id: 'g', group_size: 4, rm_prompts: { s: 'p' } })
  t.match(kept, { group: { id: 'g', size: 4 }, rmPrompts: { s: 'p' } })
  const two = read({
    response: 'a',
    rubrics: bench,
    extra_info: { rubrics: [{ criterion: 'x', points: 1 }] },
  })
  t.match(
    two && 'failure' in two ? two : rubricOf(two as never),
    { problem: /two rubrics/ },
    'none is hidden',
  )
})

t.test('check --data and score read a file of HealthBench as it stands', async (t) => {
  const server = await simulated(t, { model: 'm', answers: { 'two and two': 4 } })
  const rows = ['It is 4.', 'It is 5.'].map((response) => ({ prompt: messages, rubrics: bench, response }))
  const folder = t.testdir({
    'gateway.json': JSON.stringify({ models: { judge: { model: 'm', instances: [server.url] } } }),
    'it.yaml': 'steps: [{ name: s, function: rubric-judge, model: judge }]',
    'rows.jsonl': rows.map((row) => JSON.stringify(row)).join('\n'),
  })
  const [input, output] = [join(folder, 'rows.jsonl'), join(folder, 'out.jsonl')]
  const checked = await runCommand(['check', folder, '--data', input])
  t.match(checked.stdout, /form healthbench, 1 criterion/)
  t.notMatch(checked.stdout, /missing-column|unreadable-row|failing-question/)
  const scored = await runCommand(['score', '--config', folder, '--input', input, '--output', output])
  t.equal(scored.code, 0, scored.stderr)
  const rewards = readFileSync(output, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).reward)
  t.strictSame(rewards, [1, 0])
})
