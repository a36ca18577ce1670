import t from 'tap'
import { testApp } from '../../support/app.ts'
import { json, type Script, scriptedServer } from '../../support/scripted-server.ts'

interface Body {
  readonly program: string
  readonly cases: readonly { readonly stdin: string; readonly expected: { readonly stdout: string } }[]
}

/** Runs nothing: a program `print(N)` prints N. */
const works: Script = (seen, response) => {
  const { program, cases } = seen.body as Body
  const printed = /print\((\d+)\)/.exec(program)?.[1]
  const results = []
  for (const { expected } of cases) {
    const passed = expected.stdout.trim() === printed
    results.push({ ended: 'ok', passed, error: '', cpu_s: 0 })
    if (!passed) break
  }
  json(response, { compiled: true, cases: results, out_of_time: false })
}
const fails: Script = (_, response) => json(response, { error: { code: 'sandbox_unreachable' } }, 500)

const count = 1000

t.test('1,000 rows while a sandbox is killed and another one fails: no zero by infrastructure', async (t) => {
  const [killed, failing, healthy] = await Promise.all([
    scriptedServer(works),
    scriptedServer(works),
    scriptedServer(works),
  ])
  const servers = [killed, failing, healthy]
  t.teardown(() => Promise.all(servers.map((server) => server.kill())))
  const app = await testApp(
    t,
    {
      gateway: {
        sandboxes: {
          fleet: {
            backend: 'reward-gateway',
            instances: servers.map(({ url }) => url),
            max_in_flight: 8,
            breaker: { open_s: 0.05 },
            retry: { pause_ms: 1 },
          },
        },
      },
      code: { steps: [{ name: 'tests', function: 'code-tests', sandbox: 'fleet' }] },
    },
    16 << 20,
  )
  const samples = Array.from({ length: count }, (_, at) => ({
    prompt: 'p',
    response: `\`\`\`python\nprint(${at % 3 === 0 ? at + 1 : at})\n\`\`\``,
    ground_truth: {
      inputs: ['1\n', '2\n', '3\n'],
      outputs: [`${at}\n`, `${at}\n`, `${at}\n`],
      fn_name: null,
    },
  }))
  const scoring = app.inject({ method: 'POST', url: '/v1/score', payload: { reward: 'code', samples } })
  await killed.saw(100)
  await killed.kill()
  failing.script = fails
  await failing.saw(failing.seen.length + 5)
  await healthy.saw(300)
  failing.script = works
  await killed.revive()
  const { results } = (await scoring).json() as {
    results: { reward: number | null; failure: { kind: string } | null }[]
  }
  t.equal(results.length, count)
  const names = new Set(['sandbox_unreachable', 'sandbox_timeout', 'overloaded'])
  const wrong = results.filter(({ reward, failure }, at) =>
    reward === null ? !names.has(failure?.kind ?? '') : reward !== Number(at % 3 !== 0),
  )
  t.same(wrong, [])
  const invalid = results.filter(({ reward }) => reward === null).length
  t.ok(invalid < count / 10, `${invalid} of ${count} rows are invalid`)
  t.match(
    (await app.inject('/metrics')).body,
    /sandbox_retries_total\{sandbox="fleet",kind="sandbox_unreachable"\} \d/,
  )
})
