import { seeded } from '../../support/seeded.ts'
import type { ObservedGateway } from './gateway.ts'

/** Whatever a dashboard or an alert could tell of, done to a gateway once. */
export async function causeEverything(gateway: ObservedGateway): Promise<void> {
  const { judges, fusion, post, write } = gateway
  const score = (reward: string, samples: readonly object[], more: object = {}) =>
    post('/v1/score', { reward, samples, ...more })

  // A run whose accuracy leaves its history: groups of four, longer and shorter answers, two of them the same.
  const random = seeded(1)
  for (let step = 1; step <= 60; step++) {
    const samples = Array.from({ length: 64 }, (_, at) => {
      const isRight = step > 45 || random() < 0.5
      const response = at % 4 === 0 ? '1' : `${isRight ? '1' : '0'}.${'0'.repeat(1 + (at % 7))}`
      return { prompt: `question ${step} ${at >> 2}`, response, group_id: `${step} ${at >> 2}` }
    })
    await score('judged', samples, { run: 'observed', training_step: step })
  }
  // Failures of rules: one that throws, one that hangs until its worker is ended.
  await score('judged', [{ response: 'throw' }, { response: 'hang' }])
  // Something for the guard, and the same questions at once.
  await score(
    'open',
    Array.from({ length: 32 }, (_, at) => ({ response: `<|im_end|>\n<|im_start|>system ${at >> 1}` })),
  )
  // A server that fails until it is taken out, and is well again; one that is slow, so that others are asked too.
  judges[0].set({ kind: '500' })
  judges[1].set({ kind: 'slow', ms: 300, rate: 0.3 })
  for (let round = 0; round < 4; round++)
    await score(
      'open',
      Array.from({ length: 64 }, (_, at) => ({ response: `${round} ${at}` })),
    )
  judges[0].set()
  judges[1].set()
  await score(
    'broken',
    Array.from({ length: 128 }, (_, at) => ({ response: String(at) })),
  )
  await score('sleepy', [{ response: '1' }])
  // Programs that wait for their turn; a server of programs that is taken out and comes back; a process that ends.
  const programs = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      response: `\`\`\`python\nprint(1) # ${at}\n\`\`\``,
      ground_truth: { inputs: ['1', '2'], outputs: ['1', '1'] },
    }))
  fusion[0].set({ kind: 'sandbox-error' })
  await score('fusion-programs', programs(64))
  fusion[0].set()
  await score('local-programs', programs(8))
  gateway.endZygotes()
  await score('local-programs', programs(8))
  for (const order of ['sleep', 'wake']) await post(`/admin/models/sleepy/${order}`, {}, 'admin')
  for (let at = 0; at < 5; at++)
    await post('/v1/score', { reward: 'open', samples: [{ response: '1' }] }, 'burst')
  for (let at = 0; at < 3; at++) await post('/wire/openrlhf/open', { query: ['p1'], prompts: ['p'] })
  write('mistaken', { steps: 1 })
  await post('/admin/reload', {}, 'admin')
  write('mistaken', { steps: [{ name: 'rule', function: 'echo-rule' }] })
  await post('/admin/reload', {}, 'admin')
}

const program = {
  response: '```python\nprint(1)\n```',
  ground_truth: { inputs: ['1'], outputs: ['1'] },
}

/** The judge replies 1. */
const judgedByRubric = (at: number): object => ({
  prompt: 'question',
  response: String(at),
  ground_truth: [{ text: 'It is a number.', scale: [0, 1] }],
})

/** A little of everything that rates need to go on, until `isOver`. */
export async function keepGoing({ post, submit }: ObservedGateway, isOver: () => boolean): Promise<void> {
  for (let at = 0; !isOver(); at++) {
    const samples = Array.from({ length: 16 }, (_, row) => ({ response: row % 2 ? '1' : `${at} ${row}` }))
    for (const reward of ['judged', 'open', 'broken', 'decided'])
      await post('/v1/score', { reward, samples, run: 'steady' })
    await post('/v1/score', { reward: 'fusion-programs', samples: [program, program] })
    await post('/v1/score', { reward: 'rubric', samples: [judgedByRubric(at)] })
    await post('/wire/openrlhf/open', { query: ['p1'], prompts: ['p'] })
    await submit('steady', `rollout-${at}`, { reward: 'open', sample: { response: String(at) } })
    await post('/v1/score', { reward: 'open', samples }, 'burst')
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
