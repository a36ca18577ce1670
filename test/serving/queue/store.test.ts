import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { steadyUnixTime, systemClock } from '../../../src/core/clock.ts'
import { Deadlines } from '../../../src/serving/queue/deadlines.ts'
import { readFrame, scanFrames } from '../../../src/serving/queue/frame.ts'
import { OpenFiles } from '../../../src/serving/queue/open-files.ts'
import type { Pending } from '../../../src/serving/queue/run-state.ts'
import type { RunStore } from '../../../src/serving/queue/run-store.ts'
import { fakeClock } from '../../support/clock.ts'
import {
  allFinals,
  allPartials,
  finish,
  finishAll,
  newFolder,
  opened,
  resultOf,
  submission,
} from '../../support/run-store.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
t.comment(`SEED=${seed}`)

/** Copies of a folder whose only log ends after so many bytes. */
function cut(folder: string, bytes: number): string {
  const copy = newFolder()
  const [name = ''] = readdirSync(folder)
  writeFileSync(join(copy, name), readFileSync(join(folder, name)).subarray(0, bytes))
  return copy
}

t.test(
  'a crash at any byte of the log: what was accepted has exactly one final, and what was read stays',
  async (t) => {
    const random = seeded(seed)
    const folder = newFolder()
    const store = await opened(folder)
    /** Promises that were kept when the log had so many bytes. */
    const kept: {
      readonly bytes: number
      readonly accepted: string
      readonly finals: readonly string[]
      readonly partials: readonly string[]
    }[] = []
    /** Attempts that got their finals together. */
    const together: (readonly string[])[] = []
    let attempts = 0
    for (let step = 0; step < 40; step += 1) {
      const uid = `u${Math.floor(random() * 12)}`
      const pending = [...store.state.pending]
      const one = pending[Math.floor(random() * pending.length)]
      let accepted = ''
      const draw = random()
      if (draw < 0.5) {
        const done = await store.submit(submission(uid, `text ${attempts++}`))
        accepted = `${uid} ${done.attempt}`
      } else if (one && draw < 0.8) {
        const some = pending.slice(pending.indexOf(one)).slice(0, 1 + Math.floor(random() * 4))
        together.push(some.map(({ head }) => `${head.uid} ${head.attempt}`))
        await finish(store, some)
      } else if (one && draw < 0.9) await store.keepAnswer(one, `key ${step}`, '"an answer"')
      else if (one && draw < 0.96) await store.keepPartial(one, `{"step":${step}}`)
      else if (one) await finish(store, [one], 'cancelled')
      const finals = (await allFinals(store)).map(({ seq, uid, attempt }) => `${seq} ${uid} ${attempt}`)
      kept.push({ bytes: store.bytes, accepted, finals, partials: await allPartials(store) })
    }
    await store.close()
    const length = store.bytes
    const whole = Array.from({ length: length + 1 }, (_, at) => at)
    // Each byte of the first records, and every seventh of the others.
    for (const bytes of whole.filter((at) => at < 1500 || at % 7 === 0 || at === length)) {
      const copy = cut(folder, bytes)
      const again = await opened(copy)
      const promised = kept.filter((one) => one.bytes <= bytes)
      const before = (await allFinals(again)).map(({ seq, uid, attempt }) => `${seq} ${uid} ${attempt}`)
      const read = promised.at(-1)?.finals ?? []
      if (before.slice(0, read.length).join() !== read.join())
        t.fail(`${bytes}: finals that were read have changed`)
      const known = new Set(before.map((one) => one.replace(/^\d+ /, '')))
      for (const names of together)
        if (names.some((name) => known.has(name)) && !names.every((name) => known.has(name)))
          t.fail(`${bytes}: not all of ${names}, which count together, have their finals`)
      const told = new Set(promised.flatMap(({ partials }) => partials))
      for (const one of await allPartials(again)) {
        const [number] = one.split(' ')
        if ([...told].some((other) => other !== one && other.startsWith(`${number} `)))
          t.fail(`${bytes}: the early result ${number} has changed`)
      }
      const live = new Set((await allPartials(again)).map((one) => one.split(' ').slice(1, 3).join(' ')))
      for (const { head } of again.state.pending) {
        const name = `${head.uid} ${head.attempt}`
        if (promised.at(-1)?.partials.some((one) => one.includes(` ${name} `)) && !live.has(name))
          t.fail(`${bytes}: the early result of ${name} is lost`)
      }
      await finishAll(again)
      await again.close()
      const third = await opened(copy)
      const finals = await allFinals(third)
      const names = finals.map(({ uid, attempt }) => `${uid} ${attempt}`)
      if (new Set(names).size !== names.length) t.fail(`${bytes}: two finals of one attempt`)
      for (const { accepted } of promised) {
        const [uid, attempt] = accepted.split(' ')
        const newest = third.state.attemptOf(uid ?? '')
        if (accepted === '' || newest > Number(attempt)) continue
        if (!names.includes(accepted)) t.fail(`${bytes}: ${accepted} has no final`)
      }
      if (third.state.pending.size > 0) t.fail(`${bytes}: something is without its final`)
      if (third.damage.length > 0) t.fail(`${bytes}: ${third.damage[0]?.text}`)
      await third.close()
      rmSync(copy, { recursive: true })
    }
    t.ok(length > 2000, `${length} bytes of log`)
  },
)

t.test('a changed byte anywhere is named and never scored silently', async (t) => {
  const random = seeded(seed + 1)
  const folder = newFolder()
  const store = await opened(folder)
  for (let k = 0; k < 8; k += 1) await store.submit(submission(`u${k}`, `text ${k}`))
  for (const pending of [...store.state.pending].slice(0, 4)) await finish(store, [pending])
  const waiting = [...store.state.pending].at(-1)
  if (waiting) await store.keepPartial(waiting, '{"early":1}')
  const told = await allPartials(store)
  t.equal(told.length, 1)
  // A reader has these.
  const read = new Set((await allFinals(store)).map(({ uid }) => uid))
  await store.submit(submission('last', 'text'))
  await store.close()
  const [name = ''] = readdirSync(folder)
  const bytes = readFileSync(join(folder, name))
  const { frames } = scanFrames(bytes)
  const lastAt = frames.at(-1)?.at ?? 0
  const bodies = new Map(
    Array.from({ length: 8 }, (_, k) => [`u${k}`, JSON.stringify({ text: `text ${k}` })]),
  )
  for (let at = 0; at < lastAt; at += 1) {
    const copy = newFolder()
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ (1 + Math.floor(random() * 255))
    writeFileSync(join(copy, name), changed)
    let again: RunStore
    try {
      again = await opened(copy)
    } catch (error) {
      // Whose log it is cannot be read.
      if (!/first record|has format/.test(String(error))) t.fail(`${at}: ${error}`)
      continue
    }
    if (again.damage.length === 0) t.fail(`${at}: the damage is not named`)
    for (const pending of again.state.pending) {
      const { uid } = pending.head
      if (pending.damage !== null) continue
      if (read.has(uid)) t.fail(`${at}: ${uid} would be scored again`)
      const body = (await again.reader.bodyOf(pending)).toString()
      if (bodies.has(uid) && body !== bodies.get(uid))
        t.fail(`${at}: ${uid} would be scored with other bytes`)
    }
    for (const one of await allPartials(again))
      if (!told.includes(one)) t.fail(`${at}: a changed early result is read`)
    for (const { uid, attempt, result, state } of await allFinals(again))
      if (state === 'scored' && result !== resultOf(uid, attempt)) t.fail(`${at}: a changed result is read`)
    await again.close()
    rmSync(copy, { recursive: true })
  }
  t.pass(`${lastAt} bytes`)
})

t.test('a body cannot look like a record behind damage', async (t) => {
  const folder = newFolder()
  const store = await opened(folder)
  const [pending] = [(await store.submit(submission('u', 'x'))).pending]
  if (pending) await store.finish([{ pending, state: 'scored', result: '1' }])
  await store.close()
  const [name = ''] = readdirSync(folder)
  const bytes = readFileSync(join(folder, name))
  const final = scanFrames(bytes).frames.at(-1)
  const forged = bytes.subarray(final?.at ?? 0)
  t.equal(readFrame(forged, 0)?.head.k, 'final')
  t.ok(forged.includes(0), 'a record holds a byte that no JSON text has')
})

t.test(
  'the same bytes are the same attempt, other bytes a newer one, and late copies of old bytes replace nothing',
  async (t) => {
    const store = await opened(newFolder())
    const [one, same] = await Promise.all([
      store.submit(submission('u', 'a')),
      store.submit(submission('u', 'a')),
    ])
    t.strictSame([one.attempt, one.isNew, same.attempt, same.isNew], [1, true, 1, false])
    const newer = await store.submit(submission('u', 'b'))
    t.equal(newer.attempt, 2)
    t.equal(newer.before, one.pending, 'the older one is to be cancelled')
    t.strictSame(await store.submit(submission('u', 'a')).then(({ attempt, state }) => [attempt, state]), [
      1,
      'replaced',
    ])
    await t.rejects(store.submit(submission('u', 'c', { attempt: 2 })), { code: 'RG_ATTEMPT_CONFLICT' })
    t.equal((await store.submit(submission('u', 'c', { attempt: 7 }))).attempt, 7)
    await finishAll(store)
    t.strictSame(
      (await allFinals(store)).map(({ uid, attempt }) => [uid, attempt]),
      [['u', 7]],
    )
    t.equal((await store.submit(submission('u', 'c'))).state, 'scored')
    await store.close()
  },
)

t.test('names like __proto__ are names', async (t) => {
  const folder = newFolder()
  const store = await opened(folder)
  for (const uid of ['__proto__', 'constructor', '../../etc/passwd', 'toString'])
    await store.submit(submission(uid, uid))
  await store.close()
  const again = await opened(folder)
  t.equal(again.state.pending.size, 4)
  await finishAll(again)
  t.equal((await allFinals(again)).length, 4)
  await again.close()
})

/** Opens files whose writes or syncs fail while `isFailing`. */
const failing = (isFailing: () => boolean, method: 'datasync' | 'writev') =>
  (async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    const own = (handle[method] as (...given: unknown[]) => Promise<unknown>).bind(handle)
    const replaced = async (...given: unknown[]) => {
      if (isFailing()) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return own(...given)
    }
    return Object.assign(handle, { [method]: replaced }) as FileHandle
  }) as typeof open

for (const method of ['datasync', 'writev'] as const)
  t.test(`a ${method} that fails: nothing is accepted, and finals wait for the disk`, async (t) => {
    const folder = newFolder()
    let isFailing = false
    let errors = 0
    const store = await opened(folder, {
      clock: { ...systemClock, after: (ms, fn) => systemClock.after(ms / 100, fn) },
      openFile: failing(() => isFailing, method),
      committed: (error) => {
        if (error && ++errors > 2) isFailing = false
      },
    })
    const { pending } = await store.submit(submission('a', 'a'))
    isFailing = true
    await t.rejects(store.submit(submission('b', 'b')), { code: 'ENOSPC' })
    const finished = pending && store.finish([{ pending, state: 'scored', result: resultOf('a', 1) }])
    t.strictSame(await allFinals(store), [], 'a final that is not on disk is not read')
    await finished
    t.ok(errors > 2)
    t.equal((await allFinals(store)).length, 1)
    t.equal(readdirSync(folder).length, 2, 'commits that failed leave no files behind')
    t.ok((await store.submit(submission('b', 'b'))).isNew)
    await store.close()
    const again = await opened(folder)
    t.strictSame(again.damage, [])
    t.strictSame([...again.state.uids], ['a', 'b'])
    t.equal((await allFinals(again)).length, 1)
    await again.close()
  })

t.test('compaction keeps what counts, and the log stays small', async (t) => {
  const random = seeded(seed + 2)
  const folder = newFolder()
  let now = 0
  const parts = { segmentBytes: 4000, keepMs: 1000, wallClock: () => now }
  let store = await opened(folder, parts)
  const long = await store.submit(submission('long', 'waits for the whole run'))
  if (long.pending) await store.keepAnswer(long.pending, 'q', '"kept"')
  if (long.pending) await store.keepPartial(long.pending, '{}')
  let most = 0
  const read: string[] = []
  let after = 0
  for (let k = 0; k < 300; k += 1) {
    now += 20
    const { pending } = await store.submit(submission(`u${k}`, `${k} ${'x'.repeat(200)}`))
    if (pending && k % 3 === 0) await store.keepPartial(pending, '{}')
    if (pending) await store.finish([{ pending, state: 'scored', result: resultOf(`u${k}`, 1) }])
    const some = await store.reader.finalsAfter(after, 100, 1e6)
    read.push(...some.map(({ uid }) => uid))
    after = some.at(-1)?.seq ?? after
    store.expire()
    await store.compact()
    most = Math.max(most, store.bytes)
    if (random() < 0.05) {
      // A crash: nothing is closed.
      const copy = newFolder()
      mkdirSync(copy, { recursive: true })
      for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name))
      await store.close()
      const crashed = await opened(copy, parts)
      t.strictSame(crashed.damage, [], 'nothing is damaged')
      t.strictSame(
        [...crashed.state.pending].map(({ head }) => head.uid),
        ['long'],
      )
      t.equal(crashed.last, after, 'the cursor goes on')
      await crashed.close()
      store = await opened(folder, parts)
    }
  }
  t.strictSame(
    read,
    Array.from({ length: 300 }, (_, k) => `u${k}`),
    'each final once, in order',
  )
  t.ok(most < 100_000, `${most} bytes of log for 300 rollouts of 700`)
  const [pending] = store.state.pending
  t.strictSame(pending && [...(await store.reader.answersOf(pending))], [['q', '"kept"']])
  t.strictSame(await allPartials(store), ['1 long 1 {}'])
  const next = await store.submit(submission('next', 'x'))
  if (next.pending) await store.keepPartial(next.pending, '{}')
  t.strictSame(await allPartials(store), ['1 long 1 {}', '102 next 1 {}'])
  await store.close()
})

t.test('a log of another format is refused by name', async (t) => {
  const folder = newFolder()
  const store = await opened(folder)
  await store.submit(submission('u', 'a'))
  await store.close()
  const [name = ''] = readdirSync(folder)
  const { encodeFrame } = await import('../../../src/serving/queue/frame.ts')
  writeFileSync(
    join(folder, name),
    encodeFrame({ n: 0, k: 'open', format: 9, run: 'r', id: 'x', seq: 1 }, Buffer.alloc(0))[0],
  )
  await t.rejects(opened(folder), { code: 'RG_CONFIG_INVALID', message: /format 9/ })
})

t.test('a file of another run is refused by name, and nothing is lost', async (t) => {
  const [folder, foreign] = [newFolder(), newFolder()]
  for (const [place, uid] of [
    [folder, 'own'],
    [foreign, 'other'],
  ] as const) {
    const store = await opened(place)
    await store.submit(submission(uid, 'text'))
    await store.close()
  }
  const [name = ''] = readdirSync(foreign)
  const stray = join(folder, '0000000002.log')
  copyFileSync(join(foreign, name), stray)
  await t.rejects(opened(folder), { code: 'RG_CONFIG_INVALID', message: /0000000002\.log is of another run/ })
  rmSync(stray)
  const again = await opened(folder)
  t.strictSame(
    [...again.state.pending].map(({ head }) => head.uid),
    ['own'],
  )
  await again.close()
})

t.test('many runs hold few files open, and each goes on in its own file', async (t) => {
  const folders = Array.from({ length: 60 }, newFolder)
  const files = new OpenFiles(8)
  const stores = await Promise.all(folders.map((folder) => opened(folder, { files })))
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return folders.some((folder) => readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder))
      } catch {
        return false
      }
    }).length
  for (const round of [1, 2, 3]) {
    await Promise.all(stores.map((store) => store.submit(submission(`u${round}`, `text ${round}`))))
    const read = await Promise.all(
      stores.flatMap((store) => [...store.state.pending].map((pending) => store.reader.bodyOf(pending))),
    )
    t.equal(read.length, 60 * round)
    for (const store of stores) await store.keepAnswer([...store.state.pending][0] as Pending, 'k', '"a"')
    // Closing a file takes a moment.
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (process.platform === 'linux') t.ok(openFiles() <= 8, `${openFiles()} files are open`)
  }
  await Promise.all(stores.map(finishAll))
  for (const store of stores) t.equal((await allFinals(store)).length, 3)
  await Promise.all(stores.map((store) => store.close()))
  for (const folder of folders) t.equal(readdirSync(folder).length, 1)
  const again = await opened(folders[0] as string)
  t.equal((await allFinals(again)).length, 3)
  t.strictSame(again.damage, [])
  await again.close()
})

t.test("a deadline is met, although the system's time was set forward and back", async (t) => {
  const store = await opened(newFolder())
  await store.submit(submission('u', 'text', { deadline: 1_010_000 }))
  const [pending] = [...store.state.pending]
  if (!pending) throw new Error('nothing was accepted')
  const clock = fakeClock(500)
  let system = 1_000_000
  const now = steadyUnixTime(clock, () => system)
  const ended: string[] = []
  const deadlines = new Deadlines(clock, now, (_, { head }) => ended.push(head.uid))
  deadlines.set(store, pending, 1_010_000)
  for (const jump of [-3_600_000, 7_200_000]) {
    system += jump
    clock.advance(4000)
  }
  t.strictSame(ended, [])
  clock.advance(3000)
  t.strictSame(ended, ['u'])
  t.equal(now(), 1_011_000)
  deadlines.stop()
  await store.close()
})

t.test(
  'who waits for finals or early results is called for each, and no more once they have gone',
  async (t) => {
    const store = await opened(newFolder())
    const calls = { finals: 0, partials: 0 }
    const leave = [
      store.onFinal(() => {
        calls.finals += 1
      }),
      store.onPartial(() => {
        calls.partials += 1
      }),
    ]
    const score = async (uid: string) => {
      const { pending } = await store.submit(submission(uid, 'x'))
      await store.keepPartial(pending as Pending, '{}')
      await finish(store, [pending as Pending])
    }
    await score('a')
    t.strictSame(calls, { finals: 1, partials: 1 })
    for (const one of leave) one()
    await score('b')
    t.strictSame(calls, { finals: 1, partials: 1 })
    await store.close()
  },
)
