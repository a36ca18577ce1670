import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

t.test(
  'a process reloads at SIGHUP, and at SIGTERM ends what is in work before it ends itself',
  async (t) => {
    const held: (() => void)[] = []
    const judge = await scriptedServer((seen, response) => {
      held.push(() => json(response, completion(seen, '1')))
    })
    t.teardown(() => judge.kill())
    const reward = (weight: number) =>
      JSON.stringify({
        models: { judge: { model: 'm', instances: [judge.url], health: { interval_s: 0 } } },
        steps: [{ name: 'q', function: 'digit-judge', model: 'judge', weight }],
      })
    const folder = t.testdir({ 'judged.json': reward(1) })
    const args = ['serve', '--config', folder, '--reward-functions', 'test/fixtures/functions', '--port', '0']
    const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let written = ''
    const wrote = async (pattern: RegExp) => {
      while (!pattern.test(written)) await once(child.stdout, 'data')
      return pattern.exec(written)?.[1] ?? ''
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      written += text
    })
    const url = await wrote(/at (http:\S+) /)
    const score = (response: string) =>
      fetch(`${url}/v1/score`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ reward: 'judged', samples: [{ response }] }),
      })

    const before = score('a')
    await judge.saw(1)
    writeFileSync(join(folder, 'judged.json'), reward(3))
    child.kill('SIGHUP')
    await wrote(/(reloaded)/)
    writeFileSync(join(folder, 'judged.json'), '{"steps": 1}')
    child.kill('SIGHUP')
    t.match(await wrote(/(\{.*a reload is refused.*\})/), /judged\.json/, 'the log names the mistake')
    const after = score('b')
    await judge.saw(2)
    child.kill('SIGTERM')
    await t.rejects(async () => {
      for (;;) await fetch(`${url}/livez`, { headers: { connection: 'close' } })
    }, 'it takes no more connections')
    for (const reply of held.splice(0)) reply()
    t.match(await (await before).json(), { results: [{ reward: 1 }] }, 'with the config that it began with')
    t.match(await (await after).json(), { results: [{ reward: 3 }] }, 'with the last config without mistakes')
    t.strictSame(await exited, [0, null])
  },
)
