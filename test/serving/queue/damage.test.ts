import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allFinals, finish, newFolder, opened, submission } from '../../support/run-store.ts'

const [first, second] = ['0000000001.log', '0000000002.log']

/** A run whose first file has two rollouts, and whose second file has the final of one. */
async function twoFiles(): Promise<string> {
  const folder = newFolder()
  const store = await opened(folder)
  await store.submit(submission('done', 'x'))
  await store.submit(submission('open', 'y'))
  await store.close()
  const again = await opened(folder)
  const done = again.state.pendingOf('done')
  if (done) await finish(again, [done])
  await again.close()
  return folder
}

t.test(
  'a last file of which nothing can be read is kept, and what may have a final in it is not scored',
  async (t) => {
    const folder = await twoFiles()
    writeFileSync(join(folder, second), Buffer.alloc(10_000))
    const store = await opened(folder)
    t.match(store.damage, [{ text: `no record of ${second} can be read` }])
    t.strictSame(
      [...store.state.pending].map(({ head, damage }) => [head.uid, damage]),
      ['done', 'open'].map((uid) => [uid, `no record of ${second} can be read`]),
    )
    t.ok(readdirSync(folder).includes(second))
    await store.close()
  },
)

t.test('what is left out at the start is named with its file and offset', async (t) => {
  const folder = await twoFiles()
  const { size } = statSync(join(folder, second))
  appendFileSync(join(folder, second), 'a write that was cut')
  writeFileSync(join(folder, '0000000003.log'), Buffer.alloc(100))
  const store = await opened(folder)
  t.match(store.notes, [
    /^0000000003\.log was removed: its first record was cut off$/,
    new RegExp(`^20 bytes behind offset ${size} of ${second} were left out`),
  ])
  t.strictSame(store.damage, [])
  t.strictSame(readdirSync(folder), [first, second])
  await store.close()
})

t.test('a record that is damaged later is named once, when it is read', async (t) => {
  const folder = await twoFiles()
  const told: string[] = []
  const store = await opened(folder, { damaged: ({ run }, text) => told.push(`${run}: ${text}`) })
  const bytes = readFileSync(join(folder, second))
  const at = store.state.final(1)?.place.at ?? 0
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  writeFileSync(join(folder, second), bytes)
  for (let k = 0; k < 2; k += 1)
    t.match(await allFinals(store), [{ uid: 'done', state: 'damaged', result: null }])
  t.strictSame(told, [`run: the record at offset ${at} of ${second} is damaged`])
  t.equal(store.damage.length, 1, 'and counted')
  await store.close()
})
