/** Long texts are hashed in slices: the result depends only on the text, not on where it was cut. */
import t from 'tap'
import type { Sample } from '../../../src/core/sample/sample.ts'
import { drained } from '../../../src/core/slices.ts'
import { distinctAnswers } from '../../../src/scoring/engine/groups/distinct-answers.ts'
import { sealing, sealOf } from '../../../src/scoring/engine/guard/guarded-question.ts'
import { sampleOf } from '../../support/gateway.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)
const piece = 128 * 1024

t.test('a seal computed in slices equals the seal computed at once, wherever surrogates are', async (t) => {
  const random = seeded(seed)
  const units = ['a', 'é', '\ud83d\ude00', '\ud83d', '\ude00', '⟦']
  for (let tried = 0; tried < 40; tried++) {
    const edge = Array.from({ length: 8 }, () => units[Math.floor(random() * units.length)]).join('')
    const length = Math.max(0, piece * Math.ceil(random() * 2) - Math.floor(random() * 10))
    const text = 'x'.repeat(length) + edge.repeat(1 + Math.floor(random() * 4))
    t.same(drained(sealing(text, 'secret')), sealOf(text, 'secret'))
  }
  t.same(drained(sealing('', 'secret')), sealOf('', 'secret'))
})

t.test('megabyte answers share a contestant if and only if they are equal', async (t) => {
  const long = 'a'.repeat(3 * piece)
  const of = (response: string, parts: Partial<Sample> = {}) => ({
    sample: sampleOf(response, parts),
    earlier: {},
  })
  const different = [
    of(long),
    of(`${long}b`),
    of(`${long}\ud800`),
    of(`${long}\ud801`),
    of(`${long}\ufffd`),
    of('x', { groundTruth: long }),
    of('x', { groundTruth: [long] }),
    of('x', { groundTruth: { a: long, b: '1' } }),
    of('x', { groundTruth: { a: '1', b: long } }),
    of('', { groundTruth: long }),
    of('a'),
  ]
  const again = [of(long, { id: 'again' }), of('x', { id: 'again', groundTruth: { b: '1', a: long } })]
  const { count, places } = await distinctAnswers([...different, ...again], 1024)
  t.equal(count, different.length)
  t.equal(places[different.length], places[0])
  t.equal(places[different.length + 1], places[7])
  // Their order depends only on their content.
  const turned = await distinctAnswers([...again, ...different].reverse(), 1024)
  t.same([...turned.places].reverse(), [...places.slice(-2), ...places.slice(0, -2)])
})
