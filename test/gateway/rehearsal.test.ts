import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GatewayError } from '../../src/errors.ts'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { completion, type Script, scriptedServer } from '../support/scripted-server.ts'

const saying =
  (text: string): Script =>
  (seen) =>
    completion(seen, text)

/** A gateway whose configs a test writes again: a rule with an offset, and a judge at an address. */
async function served(t: Test, reload: object, url: string, file = '') {
  const folder = t.testdir({})
  const write = (plus: number, judgeUrl: string) => {
    const put = (name: string, config: object) => writeFileSync(join(folder, name), JSON.stringify(config))
    const model = { model: 'm', instances: [judgeUrl], health: { interval_s: 0 }, retry: { pause_ms: 1 } }
    put('gateway.json', { models: { judge: model }, reload })
    put('ruled.json', { steps: [{ name: 'rule', function: 'echo-rule', options: { plus } }] })
    put('judged.json', { steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] })
  }
  write(0, url)
  const told: string[] = []
  const gateway = await testGateway(
    t,
    {},
    {
      configs: [join(folder, file)],
      events: {
        engine: { scored: ({ reward }) => void told.push(reward) },
        reloads: { ended: (refusal) => void told.push(refusal === null ? 'served' : 'refused') },
      },
    },
  )
  const refusal = async () => {
    const error: unknown = await gateway.reload().then(
      () => null,
      (caught) => caught,
    )
    return error as GatewayError | null
  }
  return { gateway, write, told, refusal }
}

t.test(
  'configs that move rewards of known samples too far are refused, and the old ones go on',
  async (t) => {
    const [good, bad] = await Promise.all([scriptedServer(saying('1')), scriptedServer(saying('0'))])
    t.teardown(() => Promise.all([good.kill(), bad.kill()]))
    const reload = {
      samples: {
        ruled: [
          { name: 'half', response: '0.5' },
          { name: 'broken', response: 'throw' },
        ],
        judged: [{ name: 'right', prompt: '2 + 3?', response: '5', min: 0.8 }],
      },
      max_change: 0.1,
    }
    const { gateway, write, told, refusal } = await served(t, reload, good.url)
    const version = gateway.reward('ruled').version
    t.equal(gateway.lastReload, null)

    write(0.5, bad.url)
    const error = await refusal()
    t.equal(error?.code, 'RG_RELOAD_REFUSED')
    t.strictSame(error?.problems, [
      {
        path: 'reload.samples.ruled: half',
        message: 'would have 1 where it has 0.5 now: further than reload.max_change, 0.1',
      },
      { path: 'reload.samples.judged: right', message: 'would have 0, which is below its min of 0.8' },
    ])
    t.match(gateway.lastReload, {
      at: /^\d{4}-/,
      refusal: { code: 'RG_RELOAD_REFUSED', problems: error?.problems },
    })
    t.equal(gateway.reward('ruled').version, version)
    t.strictSame(told, ['refused'], 'listeners hear of the refusal, and of none of its samples')
    t.equal(resultOf((await outcomesOf(gateway, 'judged', [sampleOf('5')]))[0]), 1, 'the old server is asked')
    t.match(gateway.models(), [{ instances: [{ address: good.url, state: 'ready' }] }])

    await bad.kill()
    write(0, bad.url)
    t.match(await refusal(), {
      problems: [{ message: /^has no reward \(judge_unreachable\); it has 1 now$/ }],
    })
    told.length = 0
    write(0.05, good.url)
    t.equal(await refusal(), null, 'what stays within its bounds is served')
    t.not(gateway.reward('ruled').version, version)
    t.match(gateway.lastReload, { refusal: null })
    t.strictSame(told, ['served'])
  },
)

t.test('samples of a reward that is not there are a mistake, with the nearest name', async (t) => {
  const samples = { ruld: [{ name: 'a', response: '1' }] }
  await t.rejects(served(t, { samples }, 'http://127.0.0.1:9'), {
    code: 'RG_CONFIG_INVALID',
    problems: [{ path: 'gateway.yaml: reload.samples.ruld', message: /'ruled'/ }],
  })
  const other = { judged: [{ name: 'right', response: '5', min: 0.8 }] }
  const { refusal } = await served(t, { samples: other }, 'http://127.0.0.1:9', 'ruled.json')
  t.equal(await refusal(), null, 'where one rm-config alone is served, those of others do not count')
})

t.test('a gateway that ends does not wait for the samples of a reload', async (t) => {
  const judge = await scriptedServer(saying('1'))
  t.teardown(() => judge.kill())
  const samples = { judged: [{ name: 'right', response: '5', min: 0.8 }] }
  const { gateway, write, refusal } = await served(t, { samples, timeout_s: 3600 }, judge.url)
  judge.script = () => undefined
  write(1, judge.url)
  const refused = refusal()
  await judge.saw(1)
  await gateway.close(0)
  t.equal((await refused)?.code, 'RG_RELOAD_REFUSED')
})
