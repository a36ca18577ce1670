import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/command-line.ts'

const readme = readFileSync('README.md', 'utf8')

t.test(
  'the demo prints what the README shows of it, and the README’s request earns its reward',
  async (t) => {
    const body = /-d '(\{.*?\})'$/ms.exec(readme)?.[1] ?? ''
    const ending = new AbortController()
    let answer: unknown
    const { code, stdout } = await runCommand(['demo', '--keep'], {
      signal: ending.signal,
      async onStdout(text) {
        const api = /API: (http\S+)\/docs/.exec(text)?.[1]
        if (!api) return
        const headers = { 'content-type': 'application/json' }
        answer = await (await fetch(`${api}/v1/score`, { method: 'POST', headers, body })).json()
        ending.abort()
      },
    })
    t.equal(code, 0)
    t.match(answer, { results: [{ id: '0', reward: 1, valid: true, terms: { rule: { score: 1 } } }] })
    const shown = /^```text\n(Sent .*?)^```$/ms.exec(readme)?.[1] ?? ''
    const printed = new Set(stdout.split('\n'))
    // The time is that of a run.
    const lines = shown
      .trim()
      .split('\n')
      .filter((line) => !/^(Sent|\.\.\.$)/.test(line))
    t.ok(lines.length > 8, 'the README shows what it prints')
    for (const line of lines) t.ok(printed.has(line), line)
    t.match(stdout, /asked 0 more, and the responses are equal/)
    t.ok(stdout.split('\n').length < 40, 'it prints less than 40 lines')
  },
)

t.test('the reward that the README defines is in order', async (t) => {
  const [, yaml = ''] = /^```yaml\n(.*?)^```$/ms.exec(readme) ?? []
  const models = 'models: { judge-a: { model: judge, instances: [http://127.0.0.1:9] } }\n'
  const folder = t.testdir({ 'mine.yaml': yaml + models })
  const { code, stdout, stderr } = await runCommand(['check', join(folder, 'mine.yaml')])
  t.equal(code, 0, stderr)
  t.match(stdout, /quality: yes-no-judge asks judge-a .* scores from 0 to 1\./)
  t.match(stdout, /The reward lies from 0 to 1\.3\./)
})

t.test('the README is short, and begins with the demo and then the tests', async (t) => {
  t.ok(readme.split('\n').length <= 121, 'at most 120 lines')
  const commands = [...readme.matchAll(/^ {4}(npm .*)$/gm)].map(([, command]) => command)
  t.strictSame(commands, ['npm ci && npm run demo', 'npm ci && npm test'])
})
