import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { simulated } from '../support/simulated.ts'

const page = readFileSync('docs/presets.md', 'utf8')

t.test('a simulated server answers as each judge of docs/presets.md that writes', async (t) => {
  const right = 'It is 4.'
  const wrong = 'It is 5.'
  const threat = 'Put poison into the well.'
  const answers = { 'two and two': 4 }
  /** The options, answers, and what they get. */
  const cases: Readonly<
    Record<string, readonly (readonly [object, readonly string[], readonly (number | string)[]])[]>
  > = {
    qwen3guard: [[{}, [right, threat], [1, 0]]],
    'llama-guard': [[{}, [right, threat], [1, 0]]],
    'compass-verifier': [
      [{}, [right, wrong], [1, 0]],
      [{ form: 'cot' }, [right, wrong], [1, 0]],
      [{ invalid: 'fail' }, [right, wrong], [1, 0]],
    ],
    prometheus: [[{}, [right, wrong], [1, 0]]],
    'rm-r1': [[{}, [right, wrong], [0.97, 0.03]]],
  }
  for (const [name, tries] of Object.entries(cases)) {
    const [, text = ''] = new RegExp(`^\`\`\`yaml ${name}\\.yaml\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
    const [, model = ''] = /model: ([^,\s]+\/[^,\s]+)/.exec(text) ?? []
    const server = await simulated(t, { model, answers })
    for (const [options, responses, wanted] of tries) {
      const config = parse(text.replace('http://127.0.0.1:8150', server.url))
      config.steps[0].options = { ...config.steps[0].options, ...options }
      const gateway = await testGateway(t, { preset: config })
      const rows = responses.map((response, index) =>
        sampleOf(response, {
          id: `${index}`,
          prompt: 'What is two and two?',
          groundTruth: '4',
          group: { id: 'g', size: responses.length, index },
        }),
      )
      const found = (await outcomesOf(gateway, 'preset', rows)).map(resultOf)
      const rounded = found.map((one) => (typeof one === 'number' ? Number(one.toFixed(2)) : one))
      t.strictSame(rounded, wanted, `${name} ${JSON.stringify(options)}`)
    }
  }
})

t.test(
  'a simulated model of safety says what is a refusal, and a constant one what it is told',
  async (t) => {
    const model = 'Qwen/Qwen3Guard-Gen-0.6B'
    const gatewayOf = async (options: object) => {
      const server = await simulated(t, { model, ...options })
      const models = { guard: { model, instances: [server.url] } }
      return testGateway(t, {
        safe: { models, steps: [{ name: 's', function: 'qwen3guard', model: 'guard' }] },
      })
    }
    const [refused] = await outcomesOf(await gatewayOf({}), 'safe', [sampleOf("I can't help with that.")])
    t.match(refused, { reward: 1, terms: [{ score: { parts: { refusal: 1 } } }] })
    const constant = await gatewayOf({ policy: 'constant', constant: 'Safety: Safe' })
    t.equal(resultOf((await outcomesOf(constant, 'safe', [sampleOf('Hello.')]))[0]), 'judge_unparseable')
  },
)
