import t from 'tap'
import { combine } from '../../src/engine/combine.ts'
import { shapeOf } from '../../src/http/wire-score.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { failureKinds } from '../../src/sample/failure.ts'
import type { Outcome, Term } from '../../src/sample/outcome.ts'
import { nemoGym } from '../../src/wire/nemo-gym.ts'
import { seeded } from '../support/seeded.ts'

const body = { responses_create_params: { input: 'q' }, response: { output: [] }, kept: { a: 1 } }
const { write } = nemoGym.routes['/verify']?.read({ body, query: {}, oddities: [], truths: null }) ?? {}

interface Verified {
  readonly reward: number
  readonly reward_components: Record<string, number>
  readonly mask_sample: boolean
  readonly failure_kind: string | null
}

const verified = (plan: Pick<Plan, 'steps' | 'formula'>, outcome: Outcome): Verified =>
  write?.([{ outcome, reward: outcome.valid ? outcome.reward : 0 }], shapeOf(plan)) as Verified

t.test('components add up to the reward, with the same names in every sample of a reward', async (t) => {
  const seed = Date.now() % 2 ** 31
  const random = seeded(seed)
  for (let round = 0; round < 500; round++) {
    const arithmetic = random() < 0.3 ? ('reference' as const) : ('sound' as const)
    const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => ({
      name: `s${index}`,
      op: random() < 0.75 ? 'add' : 'mul',
    })) as unknown as Plan['steps']
    const plan = { steps, formula: null, arithmetic }
    const names = new Set<string>()
    for (let sample = 0; sample < 4; sample++) {
      const terms = steps.map(({ name }, index): Term => {
        const weight = Math.round(random() * 40) / 10 - 1
        if (index > 0 && random() < 0.3) return { name, weight, status: 'off', why: 'gate' }
        const score = { value: random() * 3 - 1 }
        return { name, weight, status: 'scored', score, draws: 1, spread: 0, contribution: null }
      })
      const result = combine(plan, terms)
      const outcome: Outcome = result.valid
        ? { id: '0', terms: result.terms, flags: [], valid: true, reward: result.reward }
        : { id: '0', terms, flags: [], valid: false, failure: result.failure, substitute: null }
      const { reward, reward_components: components } = verified(plan, outcome)
      names.add(Object.keys(components).join())
      const sum = Object.values(components).reduce((total, one) => total + one, 0)
      if (Math.abs(sum - reward) > 1e-9) t.fail(`seed ${seed}, round ${round}: ${sum} is not ${reward}`)
    }
    if (names.size > 1) t.fail(`seed ${seed}, round ${round}: components ${[...names].join(' and ')}`)
  }
  t.pass(`500 rewards, seed ${seed}`)
})

t.test("every kind of failure masks, under a kind of Gym's or of the gateway's own", async (t) => {
  const plan = { steps: [{ name: 's', op: 'add' }] as unknown as Plan['steps'], formula: null }
  for (const kind of failureKinds) {
    const failure = { kind, retryable: false, detail: 'why' }
    const terms: Term[] = [{ name: 's', weight: 1, status: 'failed', failure }]
    const reply = verified(plan, { id: '0', terms, flags: [], valid: false, failure, substitute: 7 })
    t.match(
      reply,
      { reward: 0, mask_sample: true, kept: { a: 1 }, instance_config: { mask_sample: true } },
      kind,
    )
    t.match(reply.failure_kind, /^(?:reward_gateway:)?[a-z_]+$/)
  }
})
