import type { Test } from 'tap'
import type { VoteEvent } from '../../src/scoring/engine/events.ts'
import { readNativeSample } from '../../src/trainers/native.ts'
import { outcomesOf, testGateway } from '../support/gateway.ts'
import { dataUrl, imagePart, png } from '../support/images.ts'

/** Qwen2-VL's prompt grows by a token for 28 by 28 pixels. */
const side = 28

/** A judge that sees images, asked through the gateway: the server's own count of tokens shows that they arrive whole. */
export async function askAboutImages(t: Test, url: string, model: string): Promise<void> {
  const tokens = new Map<string, number>()
  const voted = ({ samples: [sample], answered }: VoteEvent) => {
    if (sample && answered) tokens.set(sample.id, answered.tokens.prompt)
  }
  const models = { judge: { model, instances: [url], cache: 'never', sampling: { temperature: 0 } } }
  const steps = [{ name: 'term', function: 'yes-no-judge', model: 'judge' }]
  const gateway = await testGateway(t, { judged: { models, steps } }, { events: { engine: { voted } } })
  const sizes = {
    none: [],
    small: [[2, 2]],
    large: [[10, 10]],
    wide: [[12, 3]],
    both: [
      [10, 10],
      [2, 2],
    ],
  }
  const rows = Object.entries(sizes).map(([id, images], at) => {
    const parts = images.map(([width = 1, height = 1]) =>
      imagePart(dataUrl(png(width * side, height * side, at))),
    )
    const content = [...parts, { type: 'text', text: 'Is it a triangle?' }]
    return readNativeSample({ id, prompt: [{ role: 'user', content }], response: 'It is a triangle.' }, at)
  })
  for (const outcome of await outcomesOf(gateway, 'judged', rows))
    t.match(outcome, { valid: true, reward: /^[01]$/ }, outcome.id)
  const added = (id: string) => (tokens.get(id) ?? 0) - (tokens.get('none') ?? 0)
  t.comment(`prompt tokens: ${JSON.stringify(Object.fromEntries(tokens))}`)
  // Each image also has a token before and after it.
  const frame = added('small') - 4
  t.ok(frame >= 2 && frame <= 8, 'an image of 56 by 56 pixels takes 4 tokens and its frame')
  t.equal(added('large'), 100 + frame)
  t.equal(added('wide'), 36 + frame)
  t.ok(added('both') > added('large') + 4)
}
