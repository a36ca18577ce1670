import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { wilson } from '../../src/statistics/wilson.ts'
import { runCommand } from '../support/command-line.ts'

const rows = join('test/fixtures/audit/numbers.jsonl')
const weak = ['--reward-functions', join('test/fixtures/weak-rewards')]
const run = (...argv: string[]) => runCommand(['audit', ...argv])

t.test('a sound reward passes; every right answer and near miss is counted beside the attacks', async (t) => {
  const { code, stdout, stderr } = await run('--function', 'gsm8k-progressive', '--input', rows)
  t.equal(stderr, '')
  t.equal(code, 0, stdout)
  t.match(stdout, /^gsm8k-progressive \(version [0-9a-f]{16}\), 3 rows$/m)
  t.match(stdout, 'right answers: mean 1, paid above the worst text 3/3 (43.8 % to 100 %)')
  t.match(stdout, 'near misses: mean 0.1, paid below the right answer 3/3')
  t.match(stdout, /^hedge +0\/\d+ +0 % to [\d.]+ % +0 +[\d.]+$/m)
  t.match(stdout, 'No attack succeeded.')
})

t.test('a reward that pays for nothing ends with 1 and says for what', async (t) => {
  const args = ['--function', 'weak-vacuous', ...weak, '--input', rows, '--rows', '1']
  const { code, stdout } = await run(...args)
  t.equal(code, 1)
  t.match(stdout, /FAILED: .*vacuous\/I do not know/)
  const json = await run(...args, '--format', 'json')
  t.equal(json.code, 1)
  const findings = JSON.parse(json.stdout)
  t.equal(findings.rows, 1)
  t.ok(findings.paysForNothing.includes('vacuous/I do not know'))
  const report = join(t.testdir({}), 'audit.xml')
  t.equal((await run(...args, '--format', 'junit', '--output', report)).code, 1)
  const xml = readFileSync(report, 'utf8')
  t.match(xml, /<testsuite name="vacuous" tests="\d+" failures="\d+">/)
  t.match(xml, /name="I do not know"><failure message="1 of 1 paid more than earned, 1 of them in full"\/>/)
  t.notOk(
    [...xml].some((letter) => letter < '\t'),
    'no control characters',
  )
})

t.test('--fail-above holds for every attack', async (t) => {
  const args = ['--function', 'weak-substring', ...weak, '--input', rows, '--rows', '1', '--against', 'rule']
  t.equal((await run(...args)).code, 0, 'a hedge knows the task')
  const { code, stdout } = await run(...args, '--fail-above', '0.5')
  t.equal(code, 1)
  t.match(stdout, /FAILED: .*hedge\//)
})

t.test('what is wrong with the arguments or the rows is said', async (t) => {
  const file = join(t.testdir({}), 'rows.jsonl')
  const said = async (text: string) => {
    writeFileSync(file, text)
    const { code, stderr } = await run('--function', 'gsm8k', '--input', file)
    t.equal(code, 1)
    return stderr
  }
  t.match(await said(''), /holds no rows/)
  t.match(await said('{"response": 1'), /row 1: the line is no JSON/)
  t.match(await said('{"response": "a", "near_miss": 1}'), /near_miss is not a text/)
  t.match(await said('{"near_miss": []}'), /row 1 has no right answer/)
  for (const wrong of [
    [],
    ['--function', 'gsm8k'],
    ['--function', 'gsm8k', '--input', rows, '--fail-above', '2'],
  ])
    t.equal((await run(...wrong)).code, 2)
  t.equal((await run('--function', 'gsm8k', '--input', rows, '--format', 'xml')).code, 2)
  t.equal((await run('--function', 'gsm8k', '--input', 'none.jsonl')).code, 1)
})

t.test('the interval of a share is the published one', async (t) => {
  t.strictSame(wilson(0, 0), [0, 1])
  const [low, high] = wilson(8, 10)
  t.ok(Math.abs(low - 0.4902) < 1e-4 && Math.abs(high - 0.9433) < 1e-4, `${low} ${high}`)
  t.equal(wilson(0, 10)[0], 0)
  t.equal(wilson(10, 10)[1], 1)
})
