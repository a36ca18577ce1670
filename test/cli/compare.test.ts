import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSimulatedServer } from '../../src/simulate/index.ts'
import { runCommand } from '../support/command-line.ts'

const rows = readFileSync('suites/data/arithmetic.jsonl', 'utf8').trim().split('\n')
const answers = Object.fromEntries(
  rows.map((line) => {
    const { prompt, reward_model } = JSON.parse(line)
    return [prompt[0].content, reward_model.ground_truth]
  }),
)

/** A policy that is right so often. */
const actor = async (t: Test, successRate: number, seed: string) => {
  const server = await startSimulatedServer({ model: 'actor', policy: 'solver', answers, successRate, seed })
  t.teardown(() => server.close())
  return server.url
}

t.test('a suite is evaluated for two policies and compared in every form', async (t) => {
  const folder = t.testdir()
  const [base, trained] = [join(folder, 'base'), join(folder, 'trained')]
  for (const [output, rate] of [
    [base, 0.3],
    [trained, 0.6],
  ] as const) {
    const url = await actor(t, rate, output.slice(-4))
    const ran = await runCommand([
      ...['evaluate', '--suite', 'suites/arithmetic.yaml', '--config', 'rm-configs/gsm8k.yaml'],
      ...['--policy', url, '--output', output, '--runs', '2'],
    ])
    t.match(ran, { code: 0, stdout: /sums: arithmetic\/add .*all benchmarks/s, stderr: /sums-greedy/ })
  }
  const compare = (...more: string[]) => runCommand(['compare', base, trained, ...more])
  const { parts, policies } = JSON.parse((await compare('--format', 'json')).stdout)
  t.strictSame(policies, ['base', 'trained'])
  t.strictSame(
    parts.map(({ benchmark, source }: { benchmark: string; source: string }) => `${benchmark} ${source}`),
    [
      ...['sums null', 'sums arithmetic/add', 'sums arithmetic/subtract', 'sums arithmetic/multiply'],
      ...['sums-greedy null', 'sums-greedy arithmetic/add', 'sums-greedy arithmetic/subtract'],
      ...['sums-greedy arithmetic/multiply', 'null null'],
    ],
  )
  const [whole] = parts
  t.match(whole, { k: 8, policies: [{ prompts: 60, answers: 960, invalid: 0 }, {}] })
  const { value, interval } = whole.differences[0].figures.pass1
  t.ok(interval[0] <= 0.3 && 0.3 <= interval[1], `${interval} holds the true gain`)
  t.ok(interval[0] > 0 && value > interval[0] && value < interval[1])
  t.ok(whole.policies[1].overRuns.pass1.deviation > 0)
  t.match(await compare(), {
    code: 0,
    stderr: '',
    stdout: /trained - base.*pass@8.*maj@8.* \*.*leaves 0 outside/s,
  })
  t.match((await compare('--format', 'md')).stdout, /\| pass@8 \|.*\| \+\d\.\d+ .* \\\* \|/)
  const csv = (await compare('--format', 'csv')).stdout.trim().split('\n')
  t.equal(csv[0]?.split(',').length, 16)
  t.match(csv[1], /^sums,,mean score,base,60,960,0,0\.\d+/)
  const page = join(folder, 'page.html')
  t.match(await compare('--format', 'html', '--output', page), { code: 0, stdout: '' })
  const html = readFileSync(page, 'utf8')
  t.match(html, /<h2>all benchmarks<\/h2>/)
  t.notMatch(html, /What stands out/)
  t.equal(html.match(/<svg /g)?.length, 6, 'three figures and their differences are plotted')
  t.match(html, /mean score: difference from base/)
  t.notMatch(html, /<script|(?:src|href)=|@import|url\(|NaN/)
  const one = await runCommand(['compare', join(base, 'sums.jsonl'), '--k', '4'])
  t.match(one, { code: 0, stdout: /pass@4/ })
})

t.test('what is hostile in a file stays text, and what is no comparison is refused', async (t) => {
  const folder = t.testdir()
  const at = (name: string, lines: readonly object[]) => {
    writeFileSync(join(folder, name), lines.map((line) => JSON.stringify(line)).join('\n'))
    return join(folder, name)
  }
  const line = (row: number, source: string, reward: number, prompt = `p${row}`) => ({
    id: `${row}/0`,
    valid: true,
    reward,
    terms: { rule: { details: { extracted: '__proto__' } } },
    sample: { row, run: 0, draw: 0, data_source: source, prompt, response_length: 5 },
  })
  const nasty = '<script>alert(1)</script>|\u001b[31m,"=1'
  const base = at('base.jsonl', [line(0, nasty, 1), line(1, '=cmd', 0), line(2, '__proto__', 1)])
  const other = at('other.jsonl', [line(0, nasty, 0), line(1, '=cmd', 1), line(2, '__proto__', 1)])
  for (const format of ['text', 'md', 'html', 'csv']) {
    const { code, stdout } = await runCommand(['compare', base, other, '--format', format])
    t.equal(code, 0)
    t.notOk(stdout.includes('\u001b['), `${format} sends no control characters`)
    if (format === 'html') t.notMatch(stdout, /<script|NaN/)
    if (format === 'csv') t.match(stdout, /,'=cmd,/)
  }
  const [stranger, empty] = [at('stranger.jsonl', [line(0, 'a', 1, 'another')]), at('empty.jsonl', [])]
  for (const [argv, code, stderr] of [
    [[base, stranger], 1, /row 0 has another prompt/],
    [[base, empty], 1, /empty\.jsonl: holds no rows/],
    [[base, at('no.jsonl', [{ a: 1 }])], 1, /line 1 is no result/],
    [[base, folder], 2, /files only, or folders/],
    [[join(folder, 'none.jsonl')], 1, /ENOENT/],
    [[], 2, /BASE is needed/],
  ] as const)
    t.match(await runCommand(['compare', ...argv]), { code, stderr })
})
