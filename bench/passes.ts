/** Processor time of each pass over the text of one answer of 128 KiB, on its way from a request's bytes to a judge's. */
import { hash } from 'node:crypto'
import { closing, opening } from '../src/scoring/engine/guard/guarded-question.ts'
import { neutralised } from '../src/scoring/engine/guard/look-alikes.ts'
import { fullGuard } from '../src/scoring/models/interface/model-config.ts'
import {
  bodyOf,
  knownText,
  questionJson,
  RenderedMessage,
} from '../src/scoring/models/interface/question-json.ts'

const line = 'We add the apples of the first day to those of the second day, and then we count again.\n'
const text = Buffer.from(line.repeat(1600).slice(0, 128 * 1024)).toString()
const request = Buffer.from(JSON.stringify({ samples: [{ response: text }] }))
const json = request.toString()
const literals = ['Answer:\n', '\nReply with 1 or 0.'].map(knownText)
const fenced = [literals[0] ?? '', opening('0123456789ab'), text, closing('0123456789ab'), literals[1] ?? '']
const message = new RenderedMessage('user', fenced)

const passes: Record<string, () => unknown> = {
  'bytes to text': () => request.toString(),
  'text to JSON value': () => JSON.parse(json),
  'guard: what hides, what looks like structure': () => neutralised(text, fullGuard, new Set()),
  'SHA-256': () => hash('sha256', text),
  'question to JSON bytes, from its pieces': () => bodyOf(questionJson([message])),
}

console.log(`node ${process.version}, one thread, quickest of 7 runs of 200`)
for (const [name, pass] of Object.entries(passes)) {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 8; run++) {
    const before = process.cpuUsage()
    for (let at = 0; at < 200; at++) pass()
    const { user, system } = process.cpuUsage(before)
    if (run > 0) best = Math.min(best, (user + system) / 200)
  }
  console.log(`${name.padEnd(46)} ${best.toFixed(0)} µs`)
}
