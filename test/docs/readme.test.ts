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
    const shown = /^```\n(POST .*?)^```$/ms.exec(readme)?.[1] ?? ''
    const printed = new Set(stdout.split('\n'))
    // Ports and times are those of a run, and which of two equal requests asks is a matter of the moment.
    const lines = shown
      .trim()
      .split('\n')
      .filter((line) => !/^(POST|\.\.\.|judge questions)/.test(line))
    t.ok(lines.length > 3, 'the README shows what it prints')
    for (const line of lines) t.ok(printed.has(line), line)
    t.match(stdout, /the responses are equal/)
  },
)

t.test('the reward and the function that the README defines are in order', async (t) => {
  const block = (language: string) =>
    new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(readme)?.[1] ?? ''
  const step = '  - { name: polite, function: polite, model: judge-a, weight: 0.1 }\n'
  const models = 'models: { judge-a: { model: judge, instances: [http://127.0.0.1:9] } }\n'
  const folder = t.testdir({
    'mine.yaml': block('yaml') + step + models,
    functions: { 'polite.ts': block('ts') },
  })
  const args = [join(folder, 'mine.yaml'), '--reward-functions', join(folder, 'functions')]
  const { code, stdout, stderr } = await runCommand(['check', ...args])
  t.equal(code, 0, stderr)
  t.match(stdout, /polite asks judge-a .* scores from 0 to 1\./)
  t.match(stdout, /The reward lies from 0 to 1\.4\./)
})
