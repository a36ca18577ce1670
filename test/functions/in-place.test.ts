import t from 'tap'
import type { CallRow } from '../../src/functions/function-host.ts'
import { inPlaceFunctions, inPlaceLimit } from '../../src/functions/in-place.ts'
import { freeze } from '../../src/functions/worker/freeze.ts'
import { openWith } from '../support/function-calls.ts'

const names = [...inPlaceFunctions]

const rowOf = (prompt: string, response: string): CallRow =>
  // Own code gets rows as they are: one that it changed would throw.
  freeze({
    sample: { id: '1', prompt, response, groundTruth: null, rmPrompts: {}, extraInfo: {} },
    earlier: { critique: { score: null, texts: [response.slice(0, 100)] } },
  })

const host = await openWith([])
t.teardown(() => host.close())

const callOf = async (name: string, op: 'preprocess' | 'postprocess', response: string, reply: string) => {
  const { ask } = await host.describe(name)
  const answer = ask === 'classify' ? 0.5 : { text: reply, finishReason: 'stop' }
  const bound = await host.bind(name, {})
  const rows = [rowOf('How many?', response), rowOf('How many?', `${response}!`)]
  return {
    op,
    function: bound,
    rows: (await host.describe(name)).kind === 'model' ? rows.slice(0, 1) : rows,
    ...(op === 'postprocess' && { answer }),
  }
}

t.test(
  'a judge of the package asks the same of an answer that is too long for the main thread',
  async (t) => {
    for (const name of names) {
      const long = 'x'.repeat(inPlaceLimit + 1)
      const [short, other] = await Promise.all(
        ['y', long].map(async (text) => host.call(await callOf(name, 'preprocess', text, ''))),
      )
      t.equal(short?.status, 'question', name)
      const spelled = JSON.stringify(short).replaceAll('y!', `${long}!`).replaceAll('"y"', `"${long}"`)
      if (name !== 'scalar-score')
        t.equal(JSON.stringify(other) === spelled, true, `${name}: the same question`)
      else t.equal(other?.status, 'question', name)
    }
  },
)

t.test('no text makes the main thread wait', async (t) => {
  const pieces = [
    '{',
    '{a',
    '[',
    ' ',
    '\n',
    '"',
    '<think>',
    '</think>',
    '1(',
    '1 )',
    '\\',
    '{"scores":[',
    '“',
    'é',
  ]
  for (const name of names) {
    for (const piece of pieces) {
      const text = piece.repeat(Math.floor(inPlaceLimit / piece.length / 4))
      for (const op of ['preprocess', 'postprocess'] as const) {
        if (op === 'postprocess' && (await host.describe(name)).critique) continue
        const call = await callOf(name, op, op === 'preprocess' ? text : 'x', text)
        const began = process.cpuUsage()
        const { status } = await host.call(call)
        const { user, system } = process.cpuUsage(began)
        t.ok(
          (user + system) / 1000 < 150,
          `${name} ${op} ${JSON.stringify(piece)}: ${(user + system) / 1000} ms`,
        )
        t.not(status, 'failed', `${name} ${op} ${JSON.stringify(piece)}`)
      }
    }
  }
})

t.test('a closed host runs nothing in place either', async (t) => {
  const other = await openWith([])
  const bound = await other.bind('yes-no-judge', {})
  await other.close()
  const result = await other.call({ op: 'preprocess', function: bound, rows: [rowOf('a', 'b')] })
  t.equal(result.status === 'failed' && result.failure.kind, 'cancelled')
})
