import t from 'tap'
import { testApp } from '../../support/app.ts'
import { testModel } from '../../support/gateway.ts'

const { servers, config } = await testModel(t, 1, { policy: () => '1' }, { cache: 'never' })
const judged = (name: string) => ({ steps: [{ name: 'q', function: name, model: 'judge' }] })
const app = await testApp(t, {
  gateway: { models: { judge: config } },
  judged: judged('yes-no-judge'),
  scalar: judged('scalar-score'),
})
const asked = () => servers.reduce((sum, one) => sum + one.stats().sequences.finished, 0)

const post = async (url: string, payload: object) => {
  const before = asked()
  const response = await app.inject({ method: 'POST', url, payload })
  return { status: response.statusCode, text: response.body, calls: asked() - before }
}

/** What trainers post that send no prompt, each in its own format. */
const bodies: Readonly<Record<string, readonly [string, object]>> = {
  'Open-Instruct': ['/wire/open-instruct/judged', { program: '4', tests: ['4'], max_execution_time: 1 }],
  'slime, prompt null': ['/wire/slime/judged', { prompt: null, response: '4', label: '4' }],
  'slime, no turns': ['/wire/slime/judged', { prompt: [], response: '4', label: '4' }],
  'verl without a question, EasyR1': [
    '/v1/score',
    { reward: 'judged', samples: [{ prompt: '', response: '4' }] },
  ],
  'a row without a prompt': ['/v1/score', { reward: 'judged', samples: [{ response: '4' }] }],
  'a scalar model': ['/v1/score', { reward: 'scalar', samples: [{ response: '4' }] }],
  'places of images alone': [
    '/v1/score',
    {
      reward: 'judged',
      samples: [{ prompt: '<image>\n<|vision_start|><|image_pad|><|vision_end|>', response: '4' }],
    },
  ],
  'invisible characters': [
    '/v1/score',
    { reward: 'judged', samples: [{ prompt: '\u200b\u2060 \n', rm_prompt: '\u00ad', response: '4' }] },
  ],
}

t.test(
  "an answer without a prompt gets no verdict from any trainer's route, and the reply says why (M12)",
  async (t) => {
    for (const [name, [url, body]] of Object.entries(bodies)) {
      const { text, calls } = await post(url, body)
      t.match(text, /bad_sample/, name)
      t.match(text, /rm_prompt/, `${name}: the remedy is named`)
      t.equal(calls, 0, `${name}: the judge is not asked`)
    }
  },
)

t.test('a question in rm_prompt takes the place of a prompt (M12)', async (t) => {
  const rows = [
    { rm_prompt: 'What is 2 + 2?', response: '4' },
    { prompt: 'What is 2 + 2?', rm_prompt: ' ', response: '4' },
  ]
  for (const row of rows) {
    const { text, calls } = await post('/v1/score', { reward: 'judged', samples: [row] })
    t.match(JSON.parse(text), { results: [{ reward: 1, valid: true }] })
    t.equal(calls, 1)
  }
})

t.test('an empty answer earns the least, and no judge is asked (M12)', async (t) => {
  const { text, calls } = await post('/v1/score', {
    reward: 'judged',
    samples: [{ prompt: 'q', response: ' ' }],
  })
  t.match(JSON.parse(text), { results: [{ reward: 0, valid: true }] })
  t.equal(calls, 0)
})
