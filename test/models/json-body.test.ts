import t from 'tap'
import { bodyOf, questionJson } from '../../src/models/json-body.ts'
import { RenderedMessage } from '../../src/models/rendered-message.ts'
import { seeded } from '../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)
const random = seeded(seed)
const below = (limit: number): number => Math.floor(random() * limit)

const units = [
  'a',
  'plain words ',
  '"',
  '\\',
  '\n',
  '\0',
  '\u2028',
  'é',
  '字',
  '⟦',
  '👩‍⚕️',
  '\ud83d',
  '\ude00',
  '\\u27e6',
]

const textOf = (length: number): string => {
  let text = ''
  while (text.length < length) text += (units[below(units.length)] ?? '').repeat(1 + below(9))
  return text
}

const read = (input: Parameters<typeof questionJson>[0]): unknown =>
  JSON.parse(String(bodyOf(['{"it":', ...questionJson(input), '}']))).it

t.test('a body says what its question says, whatever its characters and its length', (t) => {
  // Around the length of a part, that of a body of one text, and beyond the first buffer.
  const lengths = [0, 1, 60, 64, 65, 8190, 8191, 8192, 8193, 16_400, 40_000, 2 ** 20]
  for (const length of lengths) {
    const [text, other] = [textOf(length), textOf(below(200))]
    const pieces = [other, '⟦0123456789ab\n', text, '\n0123456789ab⟧', '']
    const messages = [{ role: 'system', content: other }, new RenderedMessage('user', pieces)]
    t.equal(messages[1]?.content, pieces.join(''))
    if (JSON.stringify(read(messages)) !== JSON.stringify(messages))
      t.fail(`messages, ${length}, SEED=${seed}`)
    if (read(text) !== text) t.fail(`a text, ${length}, SEED=${seed}`)
  }
  t.strictSame(read([]), [])
  t.end()
})

t.test('a pair of surrogates that two parts divide stays a pair', async (t) => {
  const text = `${'a'.repeat(8191)}😀${'b'.repeat(20_000)}`
  t.equal(read(text), text)
  t.equal(
    read('x'.repeat(3_000_000)),
    'x'.repeat(3_000_000),
    'more than the buffer that parts are gathered in',
  )
})
