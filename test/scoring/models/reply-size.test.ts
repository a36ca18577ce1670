/** A judge's reply is input: whatever it holds, it is read soon, and what no honest server sends is no answer. */
import t from 'tap'
import { readJson } from '../../../src/scoring/models/transport/reply.ts'
import { turnsOf } from '../../support/turns.ts'

/** What no honest server sends; an honest reply of the greatest size is parsed in one go, which takes longer. */
const [most, mostOfHonest] = [100, 300]
const bytes = 8 * 1024 * 1024
const fill = (piece: string, part = 1): string => piece.repeat((part * bytes) / piece.length)
const bad: Readonly<Record<string, string>> = {
  lists: `[${fill('[],')}[]]`,
  objects: `[${fill('{},')}{}]`,
  texts: `[${fill('"",')}""]`,
  members: `{${fill('"a":0,')}"a":0}`,
  numbers: `[${fill('1,')}1]`,
  depth: `${fill('[', 0.5)}${fill(']', 0.5)}`,
  'a little depth': `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
}
const good: Readonly<Record<string, string>> = {
  colons: `{"text":"${fill(':')}"}`,
  'escaped quotes': `{"text":"${fill('\\":')}"}`,
  backslashes: `{"text":"${fill('\\\\')}"}`,
  'embeddings of 64 texts': `{"data":[${Array.from({ length: 64 }, () => `{"embedding":[${'0.0123456789,'.repeat(8191)}1]}`).join(',')}]}`,
}

for (const [replies, isGood, limit] of [
  [bad, false, most],
  [good, true, mostOfHonest],
] as const)
  for (const [what, text] of Object.entries(replies))
    t.test(`a reply of ${what} is ${isGood ? 'read' : 'no answer'}, in less than ${limit} ms`, async (t) => {
      const reply = { status: 200, retryAfter: '', text: Buffer.from(text).toString() }
      const { ms } = await turnsOf(limit, async () => {
        if (isGood) t.ok(readJson(reply))
        else t.throws(() => readJson(reply), /the reply is unusable/)
      })
      t.ok(ms < limit, `${ms.toFixed()} ms`)
    })
