import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockFolder } from '../../../src/serving/queue/folder-lock.ts'
import { newFolder } from '../../support/run-store.ts'

const killed = (n: number): string => JSON.stringify({ pid: 2 ** 22 + n, boot: 'x', began: '1' })

t.test('a folder belongs to one living process', async (t) => {
  const folder = newFolder()
  const lock = await lockFolder(folder)
  await t.rejects(lockFolder(folder), {
    code: 'RG_CONFIG_INVALID',
    message: new RegExp(`process ${process.pid}`),
  })
  await lock.release()
  writeFileSync(join(folder, 'lock'), killed(1))
  const taken = await lockFolder(folder)
  t.ok(await taken.isOwn(), 'the lock of a killed process is taken over')
  writeFileSync(join(folder, 'lock'), 'another')
  t.notOk(await taken.isOwn())
})

t.test('of many starters at once, one takes over from a killed process', async (t) => {
  for (const text of [killed(1), '']) {
    for (let round = 0; round < 20; round += 1) {
      const folder = newFolder()
      writeFileSync(join(folder, 'lock'), text)
      const locks = await Promise.allSettled(Array.from({ length: 12 }, () => lockFolder(folder)))
      const owners = locks.flatMap((lock) => (lock.status === 'fulfilled' ? [lock.value] : []))
      t.equal(owners.length, 1)
      t.ok(await owners[0]?.isOwn())
      t.strictSame(readdirSync(folder), ['lock'])
    }
  }
})

t.test('processes that were killed while they took over have one successor, too', async (t) => {
  for (const texts of [
    [killed(1), killed(2), killed(3)],
    ['', '', ''],
  ]) {
    const folder = newFolder()
    let name = 'lock'
    for (const text of texts) {
      writeFileSync(join(folder, name), text)
      name = `lock.after-${hash('sha256', `${name} ${text}`).slice(0, 32)}`
    }
    const locks = await Promise.allSettled(Array.from({ length: 12 }, () => lockFolder(folder)))
    t.equal(locks.filter(({ status }) => status === 'fulfilled').length, 1)
    t.strictSame(readdirSync(folder), ['lock'])
  }
})

t.test('a lock that cannot be read is not taken over', async (t) => {
  const folder = newFolder()
  mkdirSync(join(folder, 'lock'))
  await t.rejects(lockFolder(folder), { code: 'EISDIR' })
  t.strictSame(readdirSync(folder), ['lock'], 'nothing is left behind')
})
