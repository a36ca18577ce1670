import t from 'tap'
import { hasLoop } from '../../src/extract/index.ts'
import { hasSampledLoop } from '../../src/extract/repetition-sampled.ts'
import { nearLinear } from '../support/hostile.ts'

/** By the definition: a position and a period of which all shifted letters match. */
function slowHasLoop(text: string): boolean {
  const points = [...text]
  for (let period = 20; period * 5 <= points.length; period++) {
    let matches = 0
    for (let at = 0; at + period < points.length; at++) {
      matches = points[at] === points[at + period] ? matches + 1 : 0
      if (matches === 4 * period) return true
    }
  }
  return false
}

function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

t.test('a loop is found wherever it stands, and only there', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const next = random(seed)
  const letters = (count: number, kinds: number): string =>
    Array.from({ length: count }, () => String.fromCodePoint(0x1f600 + Math.floor(next() * kinds))).join('')
  const verdicts = new Set<boolean>()
  for (let run = 0; run < 300; run++) {
    const unit = letters(15 + Math.floor(next() * 40), 1 + Math.floor(next() * 3))
    const cut = letters(Math.floor(next() * 30), 2)
    const text = cut + unit.repeat(3 + Math.floor(next() * 4)) + cut.slice(1) + unit
    verdicts.add(slowHasLoop(text))
    t.equal(hasLoop(text), slowHasLoop(text), `seed ${seed}, run ${run}`)
  }
  t.equal(verdicts.size, 2, 'both verdicts occur')
})

t.test('five times twenty code points are a loop, less is none', async (t) => {
  t.ok(hasLoop('a'.repeat(100)))
  t.notOk(hasLoop('a'.repeat(99)))
  t.ok(hasLoop(`x${'😀'.repeat(100)}`))
  t.notOk(hasLoop('😀'.repeat(99)))
  t.notOk(hasLoop(''))
})

t.test('long loops are told from long near-loops', async (t) => {
  const next = random(3)
  const unit = Array.from({ length: 3000 }, () => String.fromCharCode(97 + next() * 26)).join('')
  t.ok(hasLoop(`before ${unit.repeat(5)} after`))
  t.notOk(hasLoop(`${unit.repeat(4)}${unit.slice(0, -1)}!`))
})

t.test('the sampled detector misses loops and takes texts of one hash for equal', async (t) => {
  const unit = 'seventeen and a half letters or so, give or take'
  t.ok(hasSampledLoop(unit.repeat(5)))
  const missed = `${'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(3)}${unit.repeat(5)}${'zyxw,'.repeat(7)}`
  t.notOk(hasSampledLoop(missed))
  t.ok(hasLoop(missed))
  const colliding = `${'a\u0161'.repeat(11)}${'ba'.repeat(11)}`
  t.ok(hasSampledLoop(colliding.repeat(2) + colliding.slice(0, 22)))
  t.notOk(hasLoop(colliding.repeat(2) + colliding.slice(0, 22)))
})

t.test('hostile text costs little', async (t) => {
  const next = random(7)
  const irregular = (longest: number, shortest: number): string => {
    let text = ''
    while (text.length < 1_000_000) {
      text += `${'a'.repeat(shortest + Math.floor(next() * (longest - shortest)))}b`
    }
    return text
  }
  let [before, nested] = ['a', 'ab']
  while (nested.length < 1_000_000) [before, nested] = [nested, nested + before]
  const texts = { irregular: irregular(98, 60), nearly: irregular(99, 97), nested }
  for (const [name, text] of Object.entries(texts)) {
    for (const find of [hasLoop, hasSampledLoop]) {
      const start = process.cpuUsage()
      find(text)
      const { user, system } = process.cpuUsage(start)
      const ms = Math.round((user + system) / 1000)
      t.ok(ms < 3000, `${name}, ${find.name}: ${ms} ms`)
    }
  }
  nearLinear(t, hasLoop)
  nearLinear(t, hasSampledLoop)
})
