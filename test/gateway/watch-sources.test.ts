import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sourcesOf, watchSources } from '../../src/gateway/watch-sources.ts'
import { fakeClock } from '../support/clock.ts'

/** Watches with a clock of its own; `look` passes a second and waits until the files have been looked at. */
async function watching(sources: () => readonly string[]) {
  const clock = fakeClock()
  const calls = { count: 0 }
  const end = await watchSources(sources, clock, async () => void calls.count++)
  const looked = async () => {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const look = async () => {
    clock.advance(1000)
    await looked()
    return calls.count
  }
  return { look, end, clock, calls }
}

t.test('a change is told of once, when it has been left alone for a second', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'a', below: { 'shared.ts': 'b' } })
  const { look, end, clock, calls } = await watching(() => [folder, join(folder, 'later')])
  t.equal(await look(), 0, 'nothing has changed')
  const changes: (readonly [string, () => void])[] = [
    ['a file was written', () => writeFileSync(join(folder, 'one.yaml'), 'longer')],
    ['a file below was written', () => writeFileSync(join(folder, 'below', 'shared.ts'), 'longer')],
    ['a file came', () => writeFileSync(join(folder, 'two.py'), '')],
    ['a file went', () => rmSync(join(folder, 'two.py'))],
    ['a path that was absent came', () => mkdirSync(join(folder, 'later'))],
    ['and got a file', () => writeFileSync(join(folder, 'later', 'x.json'), '')],
  ]
  for (const [at, [title, change]] of changes.entries()) {
    change()
    t.equal(await look(), at, `${title}: not while it may go on`)
    t.equal(await look(), at + 1, title)
    t.equal(await look(), at + 1, `${title}: once`)
  }
  const told = calls.count
  writeFileSync(join(folder, 'one.yaml'), 'x')
  await look()
  writeFileSync(join(folder, 'one.yaml'), 'xy')
  t.equal(await look(), told, 'a second change begins the second again')
  t.equal(await look(), told + 1)
  for (const name of ['.one.yaml.swp', 'one.log']) writeFileSync(join(folder, name), 'x')
  mkdirSync(join(folder, '__pycache__'))
  writeFileSync(join(folder, '__pycache__', 'x.py'), 'x')
  await look()
  t.equal(await look(), told + 1, 'what nobody reads is no change')
  end()
  t.equal(clock.pending, 0, 'nothing goes on after the end')
})

t.test('a mounted ConfigMap changes by one link, and what a reload adds is no change', async (t) => {
  const folder = t.testdir({
    mount: { '..1': { 'one.yaml': 'first' }, '..2': { 'one.yaml': 'other' } },
    extra: { 'f.ts': '' },
  })
  const mount = join(folder, 'mount')
  symlinkSync('..1', join(mount, '..data'))
  symlinkSync('..data/one.yaml', join(mount, 'one.yaml'))
  let sources = [mount]
  const { look, end } = await watching(() => sources)
  symlinkSync('..2', join(mount, '..next'))
  renameSync(join(mount, '..next'), join(mount, '..data'))
  await look()
  t.equal(await look(), 1)
  sources = [mount, join(folder, 'extra')]
  await look()
  t.equal(await look(), 1)
  end()
})

t.test(
  'configs, the gateway file beside them, folders of functions and files of keys are sources',
  async (t) => {
    const settings = {
      functions: {
        folders: ['/f'],
        timeout_s: 5,
        python: { command: 'python3', processes: 1, memory_mb: 64 },
      },
      keys: {
        a: { file: '/secret/key', scopes: ['score' as const] },
        b: { env: 'KEY', scopes: ['read' as const] },
      },
    }
    t.strictSame(sourcesOf({ configs: ['/c'], functionFolders: ['/g'] }, null), ['/c', '/g'])
    t.strictSame(sourcesOf({ configs: ['/c', '/d/one.yaml'], functionFolders: ['/g'] }, settings), [
      '/c',
      '/d/one.yaml',
      '/d/gateway.yaml',
      '/d/gateway.yml',
      '/d/gateway.json',
      '/g',
      '/f',
      '/secret/key',
    ])
  },
)
