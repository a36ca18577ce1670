import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { regressionCases, ruleContract } from '../../src/contract/testing.ts'
import { wilson } from '../../src/core/statistics/intervals.ts'
import sound from '../fixtures/detector/right.ts'
import { runCommand } from '../support/command-line.ts'
import { compiledFixtures } from '../support/gateway.ts'

const rows = join('test/fixtures/audit/numbers.jsonl')
/** With a search that is short: it is not what most of these tests are about. */
const weak = ['--reward-functions', compiledFixtures('weak-rewards'), '--budget', '300']
const detector = ['--reward-functions', compiledFixtures('detector')]
const right = ['--function', 'right', ...detector, '--options', '{"reader": "number after a mark"}']
const run = (...argv: string[]) => runCommand(['audit', ...argv])

t.test('the audit of a right reward', async (t) => {
  const { code, stdout, stderr } = await run(...right, '--input', rows, '--budget', '1000')

  t.test('passes: no attack is paid', async (t) => {
    t.equal(stderr, '')
    t.equal(code, 0, stdout)
    t.match(stdout, "No attack in the answer's place succeeded.")
    t.match(stdout, /\nPASSED: none of \d+ attacks is paid as much as a right answer/)
  })

  t.test(
    'tells of answers that contradict a right value outside its place; --strict fails on them',
    async (t) => {
      t.match(
        stdout,
        /; \d contradicts? a right answer outside its place and (?:is|are) paid \(--strict fails on (?:it|them)\)\n$/,
      )
      t.match(stdout, /^a right answer, contradicted outside its place +paid too much/m)
      const strict = ['--strict', '--against', 'rule', '--budget', '3000']
      t.equal((await run(...right, '--input', rows, ...strict)).code, 1)
    },
  )

  t.test('tries the forms that the reward pays, and rewrites right answers', async (t) => {
    t.match(stdout, /^forms that pay, by rows: as given \(3\), mark \(\d\)/m)
    t.match(stdout, /^No rewrite of a right answer is refused \(\d{2,} tried\)\.$/m)
  })

  t.test('counts what right answers and near misses are paid', async (t) => {
    t.match(stdout, 'right answers: mean 1, paid above the worst text 3/3 (43.8 % to 100 %)')
    t.match(stdout, 'near misses: mean 0, paid below the right answer 3/3')
  })

  t.test(
    'says which version of the function it tried on how many rows, and each family of attacks',
    async (t) => {
      t.match(stdout, /^right \(version [0-9a-f]{16}\), 3 rows$/m)
      t.match(stdout, /^hedge +0\/\d+ +0 % to [\d.]+ % +0 +[\d.]+$/m)
      t.match(stdout, /^several answers +0\/\d+ +0 % to [\d.]+ % +0 +[\d.]+$/m)
    },
  )
})

t.test('a value that the ground truth allows, too, is no attack', async (t) => {
  const file = join(t.testdir({}), 'rows.jsonl')
  const rowOf = (at: number) => {
    const ground_truth = { target: [4, 5, 3, -4, 40].map((value) => String(value * at)) }
    return { prompt: `Row ${at}?`, response: `<answer>${4 * at}</answer>`, ground_truth }
  }
  writeFileSync(file, [1, 10, 100].map((at) => JSON.stringify(rowOf(at))).join('\n'))
  const { stdout } = await run('--function', 'search-em', '--input', file, '--against', 'rule', '--verbose')
  t.match(stdout, /^wrong value\/a near number, 1 +0\/\d/m)
  t.notMatch(stdout, /^wrong value\/.* [1-9]\d*\/\d+ /m, 'none is paid')
})

t.test('rows whose responses earn nothing are told of', async (t) => {
  const told =
    /^warning: the responses of 1 of 2 rows earn no more than an answer that says nothing; if they are wrong/m
  const file = join(t.testdir({}), 'rows.jsonl')
  const rowOf = (value: number) =>
    JSON.stringify({ prompt: '6 * 7?', response: `#### ${value}`, ground_truth: '42' })
  writeFileSync(file, `${rowOf(42)}\n${rowOf(41)}\n`)
  const args = [...right, '--budget', '300', '--input', file]
  t.match((await run(...args)).stdout, told)
  writeFileSync(file, `${rowOf(42)}\n`)
  t.notMatch((await run(...args)).stdout, /^warning:/m)
})

t.test(
  'an attack outside the place that is paid has a row, a text and a word in the verdict, also of an audit that fails',
  async (t) => {
    const starter = ['--reward-functions', 'starter/reward-functions', '--input', 'starter/rows.jsonl']
    const { code, stdout } = await run('--function', 'last-line', ...starter)
    t.equal(code, 1)
    const [, table = '', examples = ''] = stdout.split(
      /^a right answer, contradicted outside its place|^for example:/m,
    )
    const name = 'spam outside the place/'
    t.match(table, new RegExp(`^${name}.* (\\d)/\\1 `, 'm'))
    t.match(examples, new RegExp(`^ {2}${name}.*: row "\\w+", paid 1 for "`, 'm'))
    t.match(
      stdout,
      /\nFAILED: .* contradicts? a right answer outside its place and (?:is|are) paid \(--strict fails on (?:it|them)\)\.\n$/,
    )
    const strict = await run('--function', 'last-line', ...starter, '--strict')
    t.match(strict.stdout, /\nFAILED: [^\n]*spam outside the place/)
    t.notMatch(strict.stdout, 'contradicted outside its place')
  },
)

t.test('the audit of a reward that pays for an empty answer', async (t) => {
  const args = ['--function', 'weak-vacuous', ...weak, '--input', rows, '--rows', '1']

  t.test('exits with 1 and names the attack', async (t) => {
    const { code, stdout } = await run(...args)
    t.equal(code, 1)
    t.match(stdout, /FAILED: .*vacuous\/I do not know/)
  })

  t.test('says the same in JSON', async (t) => {
    const { code, stdout } = await run(...args, '--format', 'json')
    t.equal(code, 1)
    const findings = JSON.parse(stdout)
    t.equal(findings.rows, 1)
    t.ok(findings.paysForNothing.includes('vacuous/I do not know'))
  })

  t.test('says the same in JUnit, without control characters', async (t) => {
    const report = join(t.testdir({}), 'audit.xml')
    t.equal((await run(...args, '--format', 'junit', '--output', report)).code, 1)
    const xml = readFileSync(report, 'utf8')
    t.match(xml, /<testsuite name="vacuous" tests="\d+" failures="\d+">/)
    t.match(xml, /name="I do not know"><failure message="1 of 1 paid more than earned, 1 of them in full"\/>/)
    t.notOk([...xml].some((letter) => letter < '\t'))
  })
})

t.test('the audit of a reward that pays an attack in full (M32)', async (t) => {
  const args = ['--function', 'weak-substring', ...weak, '--input', rows, '--rows', '1', '--against', 'rule']
  const { code, stdout } = await run(...args)
  const { failing, passed, attacks } = JSON.parse((await run(...args, '--format', 'json')).stdout)

  t.test('exits with 1 and shows a text that is paid', async (t) => {
    t.equal(code, 1, 'a hedge knows the task, and is paid for nothing')
    const [, paid] = /\nFAILED: (\d+) attacks are paid as much as a right answer: hedge\//.exec(stdout) ?? []
    t.equal(Number(paid), failing.length, 'it counts all attacks that are paid, and nothing else')
    t.match(stdout, /\nwhat to change:\n {2}hedge: Take the answer from one place/)
    t.match(stdout, /\nfor example:\n {2}hedge\/[^\n]*: row "0", paid 1 for "The answer could be [^\n]*42/)
  })

  t.test('names in JSON each attack that is paid, with an example', async (t) => {
    t.equal(passed, false)
    const paid = attacks.filter(
      (one: { paidInFull: number; isOutside: boolean }) => one.paidInFull > 0 && !one.isOutside,
    )
    t.strictSame(
      failing,
      paid.map(({ name }: { name: string }) => name),
    )
    for (const { name, example } of paid)
      t.match(example, { row: '0', attack: name, response: /\w/, reward: 1, paidInFull: true })
  })

  t.test('passes only where --accept names all that is paid, by families or single attacks', async (t) => {
    const [first = '', ...others] = [
      ...new Set(failing.map((name: string) => name.split('/')[0])),
    ] as string[]
    const ofFirst = failing.filter((name: string) => name.startsWith(`${first}/`))
    const accepted = [...others, ...ofFirst].flatMap((name) => ['--accept', name])
    const passing = await run(...args, ...accepted)
    t.equal(passing.code, 0, passing.stdout)
    t.match(passing.stdout, /\nPASSED: /)
    t.equal((await run(...args, ...accepted.slice(2))).code, 1, 'the other families count')
  })
})

t.test('the verdict counts refused rewrites apart from attacks that are paid', async (t) => {
  const args = ['--function', 'weak-substring', ...weak, '--input', rows, '--rows', '1', '--against', 'rule']
  const { stdout } = await run(...args, '--refuse-above', '0', '--accept', 'several answers')
  const verdict = stdout.split('\n').at(-2) ?? ''
  const [, attacks = '', refused = ''] =
    /^FAILED: (\d+ attacks are paid .*?)\. (\d+ of \d+ rewritten right answers are refused: [^.]*)\./.exec(
      verdict,
    ) ?? []
  t.match(attacks, /^\d+ attacks are paid as much as a right answer: hedge\//, verdict)
  const rewrites = stdout.slice(stdout.indexOf('rewrites of right answers'), stdout.indexOf('for example'))
  for (const name of refused.slice(refused.indexOf(':') + 2).split('; ')) {
    t.match(rewrites, name)
    t.notMatch(attacks, name)
  }
})

t.test('findings become cases, which the audit and a contract test run again', async (t) => {
  const folder = t.testdir({})
  const cases = join(folder, 'cases.jsonl')
  const weakRule = ['--function', 'planted', ...detector, '--options']
  const reading = (reader: string) => [...weakRule, JSON.stringify({ reader })]
  const found = await run(
    ...reading('last number'),
    '--input',
    rows,
    '--budget',
    '500',
    '--write-cases',
    cases,
  )
  t.equal(found.code, 1)
  t.match(await run(...reading('last number'), '--cases', cases), {
    code: 1,
    stdout: /FAILED: (\d+) of \1 cases/,
  })
  t.match(await run(...right, '--cases', cases), { code: 0, stdout: /^PASSED: \d+ cases hold\n$/ })
  const refusing = join(folder, 'refused.jsonl')
  await run(
    ...reading('refuses bold'),
    '--input',
    rows,
    '--against',
    'rule',
    '--budget',
    '400',
    '--write-cases',
    refusing,
  )
  t.match(readFileSync(refusing, 'utf8'), /"must":"earn as much"/)
  t.match(await run(...right, '--cases', refusing), { code: 0, stdout: /^PASSED/ })

  const parsed = regressionCases(readFileSync(cases, 'utf8'))
  ruleContract(t, sound, {
    full: { response: 'It is so.\n#### 42', groundTruth: '42', options: { reader: 'number after a mark' } },
    zero: { response: 'It is so.\n#### 43', groundTruth: '42', options: { reader: 'number after a mark' } },
    malformed: { response: '', groundTruth: '42', options: { reader: 'number after a mark' } },
    hacks: {
      'two values': {
        response: '#### 42 or 43',
        groundTruth: '42',
        options: { reader: 'number after a mark' },
      },
    },
    options: { reader: 'number after a mark' },
    cases: parsed.slice(0, 20),
  })
  writeFileSync(cases, '{"name": 1}\n')
  t.match(await run(...right, '--cases', cases), { code: 2, stderr: /line 1 is not a case/ })
})

t.test('the search is the same for a seed, keeps its budget, and shows texts in full', async (t) => {
  const args = [
    '--function',
    'planted',
    ...detector,
    '--options',
    '{"reader": "first number"}',
    '--input',
    rows,
  ]
  const json = async (...more: string[]) =>
    JSON.parse(
      (await run(...args, '--against', 'rule', '--format', 'json', '--budget', '300', ...more)).stdout,
    )
  const trials = ({ attacks, rewrites }: { attacks: { trials: number }[]; rewrites: { trials: number }[] }) =>
    [...attacks, ...rewrites].reduce((sum, one) => sum + one.trials, 0)
  const first = await json()
  t.strictSame(await json(), first)
  t.ok(trials(first) <= 300 && trials(first) > 150, `${trials(first)} texts`)
  const { stdout } = await run(...args, '--against', 'rule', '--budget', '300', '--show')
  t.match(stdout, /paid 1 for "Three crates of six jars make 18 jars\.\\n#### 18[^"]+"\n/)
})

t.test('--fail-above applies to each attack', async (t) => {
  const args = ['--function', 'weak-substring', ...weak, '--input', rows, '--rows', '1', '--against', 'rule']
  const { code, stdout } = await run(...args, '--fail-above', '0.5')
  t.equal(code, 1)
  t.match(stdout, /FAILED: .*hedge\//)
})

t.test('score and audit accept and refuse the same files (M33)', async (t) => {
  const folder = t.testdir({
    'rows.jsonl': '{"id":"a","response":"so\\n#### 4","ground_truth":"4","near_miss":["#### 5","#### 6"]}\n',
    'typo.jsonl': '{"id":"a","response":"so\\n#### 4","ground_truth":"4","nearmiss":"#### 5"}\n',
  })
  const both = async (name: string) => {
    const input = join(folder, name)
    const scored = ['score', '--function', 'gsm8k', '--input', input, '--output', '-', '--allow-invalid', '1']
    const audited = ['--function', 'gsm8k', '--input', input, '--against', 'judge']
    return [await run(...audited), await runCommand(scored)] as const
  }
  const [audited, scored] = await both('rows.jsonl')
  t.match(audited, { stdout: /near misses: / }, audited.stderr)
  t.match(JSON.parse(scored.stdout), { id: 'a', valid: true })
  const [refused, invalid] = await both('typo.jsonl')
  t.match(refused, { code: 2, stderr: /there is no field "nearmiss"/ })
  t.match(JSON.parse(invalid.stdout), { valid: false, failure: { detail: /there is no field "nearmiss"/ } })
})

t.test('audit names the row that it cannot use', async (t) => {
  const cases: [file: string, stderr: RegExp][] = [
    ['', /has no rows/],
    ['{"response": 1', /row 1: the line is not JSON/],
    ['{"response": "a", "near_miss": 1}', /near_miss must be a string/],
    ['{"near_miss": []}', /row 1 has no right answer/],
  ]
  const file = join(t.testdir({}), 'rows.jsonl')
  for (const [text, stderr] of cases) {
    writeFileSync(file, text)
    t.match(await run('--function', 'gsm8k', '--input', file), { code: 2, stderr }, text)
  }
})

t.test('audit exits with 2 for arguments that it cannot use', async (t) => {
  for (const wrong of [
    [],
    ['--function', 'gsm8k'],
    ['--function', 'gsm8k', '--input', rows, '--fail-above', '2'],
    ['--function', 'gsm8k', '--input', rows, '--format', 'xml'],
    ['--function', 'gsm8k', '--input', 'none.jsonl'],
  ])
    t.equal((await run(...wrong)).code, 2, wrong.join(' '))
})

t.test('the confidence interval of a share equals the published one', async (t) => {
  t.strictSame(wilson(0, 0), [0, 1])
  const [low, high] = wilson(8, 10)
  t.ok(Math.abs(low - 0.4902) < 1e-4 && Math.abs(high - 0.9433) < 1e-4, `${low} ${high}`)
  t.equal(wilson(0, 10)[0], 0)
  t.equal(wilson(10, 10)[1], 1)
})
