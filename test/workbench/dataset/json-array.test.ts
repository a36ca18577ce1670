import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { arrayItems, openRows } from '../../../src/workbench/dataset/rows.ts'

const rows = [
  { text: 'a "quoted\\" ], [ } {', list: [[], [{ deep: ['中文', '\\'] }]] },
  [1, [2, 'x,y']],
  'only, text ]',
  -1.5,
  null,
  {},
]

async function valuesOf(pieces: readonly Buffer[]): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const items of arrayItems(Readable.from(pieces, { objectMode: false }).setEncoding('utf8')))
    values.push(...items.map(({ value }) => value))
  return values
}

t.test('a JSON array is read correctly for any chunk boundaries', async (t) => {
  for (const text of [JSON.stringify(rows), ` \n${JSON.stringify(rows, null, 2)}\n`]) {
    const bytes = Buffer.from(text)
    t.strictSame(await valuesOf([...bytes].map((byte) => Buffer.from([byte]))), rows)
    for (let at = 0; at <= bytes.length; at += 7)
      t.strictSame(await valuesOf([bytes.subarray(0, at), bytes.subarray(at)]), rows)
  }
  t.strictSame(await valuesOf([Buffer.from('[]')]), [])
})

t.test('a file is read as an array or as lines, and broken input is named', async (t) => {
  const folder = t.testdir()
  const read = async (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    const values: unknown[] = []
    for await (const piece of await openRows(join(folder, name), process.stdin))
      values.push(...piece.map(({ value }) => value))
    return values
  }
  t.strictSame(await read('array.json', '\n [{"a": 1},\n {"a": 2}]'), [{ a: 1 }, { a: 2 }])
  t.strictSame(await read('lines.json', '{"a": 1}\n{"a": 2}'), [{ a: 1 }, { a: 2 }])
  t.strictSame(await read('array.jsonl', '[1, 2]\n[3]'), [[1, 2], [3]])
  t.strictSame(await read('item.json', '[{"a": 1}, {a: 2}, 3]'), [{ a: 1 }, undefined, 3])
  t.strictSame(await read('empty.json', ''), [])
  await t.rejects(read('open.json', '[{"a": 1}, {"a": '), {
    code: 'RG_INPUT_INVALID',
    message: /open.json: the array does not end/,
  })
})
