import t from 'tap'
import { testApp } from '../../support/app.ts'
import { scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const files = {
  'shows.ts': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({ truth: z.unknown(), range: [0, 1], score: ({ sample: { prompt, turns } }) => ({ value: 1, details: { prompt, turns } }) })
`,
  'whole.ts': `import { z } from 'zod'
import { defineModelReward, prompt, transcript } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Q: \${sample.prompt} Rollout: \${transcript(sample)}\`, rm_postprocess: ({ text }) => Number(text) })
`,
}

const asked: string[] = []
const judge = await scriptedServer(
  ({ body }) => {
    asked.push(JSON.stringify(body))
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const message = { role: 'assistant', content: '1' }
    return { id: 'x', model: 'judge', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
  },
  ['judge'],
)
t.teardown(() => judge.kill())
const app = await testApp(t, {
  gateway: {
    functions: { folders: [t.testdir(files)] },
    models: { judge: { model: 'judge', instances: [judge.url], health: { interval_s: 0 }, cache: 'never' } },
  },
  shows: { steps: [{ name: 'q', function: 'shows' }] },
  whole: { steps: [{ name: 'q', function: 'whole', model: 'judge' }] },
})

interface Result {
  readonly valid: boolean
  readonly failure: { readonly kind: string; readonly detail: string } | null
  readonly terms: { readonly q: { readonly details: object } }
}

async function score(reward: string, samples: readonly object[]): Promise<readonly Result[]> {
  asked.length = 0
  const answer = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward, samples } })
  return answer.json().results
}

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,cGl4ZWxz' } }

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
const random = seeded(seed)
const below = (count: number): number => Math.floor(random() * count)

/** A rollout of any roles, parts and calls. `shown`: words that a transcript shows; `kept`: words besides. */
function anyRollout(at: number) {
  const words = { shown: [] as string[], kept: [] as string[] }
  const types = new Set<string>()
  const word = (where: 'shown' | 'kept') => {
    const made = `w${at}x${words.shown.length + words.kept.length}w`
    words[where].push(made)
    return made
  }
  const parts: readonly (() => object)[] = [
    () => ({ type: 'text', text: word('shown') }),
    () => ({ type: 'refusal', refusal: word('shown') }),
    () => ({ type: 'input_audio', input_audio: { data: word('kept'), format: 'wav' } }),
    () => ({ type: 'hologram', depth: word('kept') }),
    () => image,
  ]
  const content = () => {
    if (below(2) === 0) return word('shown')
    return Array.from({ length: below(3) + 1 }, () => {
      const part = parts[below(4) === 0 ? below(parts.length) : 0]?.() as { readonly type: string }
      if (part.type !== 'text') types.add(part.type.replace('_url', ''))
      return part
    })
  }
  const call = () => ({
    id: word('kept'),
    function: { name: word('shown'), arguments: below(3) === 0 ? word('shown') : { to: word('shown') } },
  })
  const turn = () => {
    const role = ['assistant', 'assistant', 'tool', 'environment', 'user'][below(5)]
    if (role !== 'assistant') return { role, content: content(), [word('kept')]: 1 }
    const calls = Array.from({ length: below(3) }, call)
    const said = calls.length > 0 && below(2) === 0 ? null : content()
    return { role, content: said, tool_calls: calls, reasoning_content: word('kept') }
  }
  const prompt = [{ role: 'user', content: below(5) === 0 ? content() : word('shown') }]
  const response = [
    ...Array.from({ length: below(5) }, turn),
    { role: 'assistant', content: content(), further: 1 },
  ]
  return { sample: { id: `${at}`, prompt, response }, types, ...words }
}

t.test(`any mix of parts, roles and calls arrives whole, or fails by name (SEED=${seed})`, async (t) => {
  const rollouts = Array.from({ length: 120 }, (_, at) => anyRollout(at))
  for (const reward of ['shows', 'whole']) {
    const results = await score(
      reward,
      rollouts.map(({ sample }) => sample),
    )
    const questions = asked.join('\n')
    let whole = 0
    for (const [at, { shown, kept, types, sample }] of rollouts.entries()) {
      const { valid, failure, terms } = results[at] as Result
      if (valid) whole += 1
      const told = reward === 'whole' ? questions : JSON.stringify(terms.q.details)
      const lost = (reward === 'whole' ? shown : [...shown, ...kept]).filter((one) => !told.includes(one))
      const named = [...types].some((type) => failure?.detail.includes(type))
      const isRight = valid
        ? lost.length === 0
        : named && /^(?:unseen_content|bad_sample)$/.test(failure?.kind ?? '')
      if (!isRight) t.fail(`${reward} ${at}: ${JSON.stringify([valid, failure, lost, sample])}`)
    }
    t.ok(whole > 20 && whole < 120, `${reward}: ${whole} of 120 are scored`)
  }
})
