import t from 'tap'
import { prompt } from '../../src/contract/index.ts'
import { cutTo, isResponseOf, valuesOf, withoutMiddle } from '../../src/engine/cut-question.ts'
import { cpuMs } from '../support/cpu.ts'
import { sampleOf } from '../support/gateway.ts'

t.test('a text loses its middle, and no character is halved', async (t) => {
  t.equal(withoutMiddle('short', 5), 'short')
  const cut = withoutMiddle(`${'a'.repeat(500)}${'z'.repeat(500)}`, 200)
  t.match(cut, /^a{60,80}\n\[\.\.\. 1000 characters, the middle left out \.\.\.\]\nz{60,80}$/)
  t.ok(Buffer.byteLength(cut) <= 200)
  const halves = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
  for (let bytes = 60; bytes < 90; bytes++) t.notMatch(withoutMiddle('🙂'.repeat(100), bytes), halves)
})

t.test('the longest values lose the most, and what is not to be cut stays', async (t) => {
  const [long, short, question] = ['x'.repeat(900), 'y'.repeat(100), 'q'.repeat(500)]
  const asked = prompt`Q: ${question} A: ${long} B: ${short}`
  const cut = cutTo(asked, (value) => value !== question, 400)
  const [kept, shorter = '', same] = valuesOf(cut)
  t.strictSame([kept, same], [question, short])
  t.ok(shorter.length < 310 && shorter.length > 250, String(shorter.length))
})

t.test('a value of the response is told from one of the rest of the row', async (t) => {
  const row = {
    sample: sampleOf('{"Reply":"a\\"b\\nc"}', { prompt: 'what?', rmPrompt: 'rules', groundTruth: 'right' }),
    earlier: { critique: { score: null, texts: ['poor'] } },
  }
  const values = {
    'a"b\nc': true,
    'Answer: {"Reply":"a\\"b\\nc"}': true,
    what: false,
    rules: false,
    right: false,
    poor: false,
    '': false,
  }
  for (const [value, wanted] of Object.entries(values)) t.equal(isResponseOf(row, value), wanted, value)
})

t.test('an answer that repeats its question cannot have that cut', async (t) => {
  const prompt = 'How many apples has Ann?'
  const echo = { sample: sampleOf(`${prompt} ${'x'.repeat(500)}`, { prompt }), earlier: {} }
  t.equal(isResponseOf(echo, prompt), false)
  t.equal(isResponseOf(echo, echo.sample.response), true)
  t.equal(isResponseOf({ sample: sampleOf('a', { prompt }), earlier: {} }, prompt), false)
  t.equal(isResponseOf({ sample: sampleOf(prompt, { prompt }), earlier: {} }, prompt), true)
})

t.test('hostile lengths cost little', async (t) => {
  const began = cpuMs()
  const long = '\ud800'.repeat(1 << 20)
  withoutMiddle(long, 1000)
  const asked = prompt`${long}${`${long}x`}`
  cutTo(asked, () => true, 5000)
  isResponseOf({ sample: sampleOf(`${long}y`), earlier: {} }, `${long}x`)
  t.ok(cpuMs() - began < 1000)
})
