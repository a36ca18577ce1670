import { readdir, stat } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { RuntimeOptions } from './runtime.ts'

const intervalMs = 1000
const deepest = 8
const endings = new Set(['.yaml', '.yml', '.json', '.ts', '.js', '.mjs', '.py'])
const gatewayNames = ['gateway.yaml', 'gateway.yml', 'gateway.json']

/** Every file and folder that a reload would read: configs, functions and keys. `settings`: as last read, or null. */
export function sourcesOf(
  { configs, functionFolders }: Pick<RuntimeOptions, 'configs' | 'functionFolders'>,
  settings: Pick<GatewaySettings, 'functions' | 'keys'> | null,
): readonly string[] {
  const besides = configs
    .filter((path) => endings.has(extname(path)))
    .flatMap((path) => gatewayNames.map((name) => join(dirname(path), name)))
  const files = Object.values(settings?.keys ?? {}).flatMap(({ file }) => file ?? [])
  const folders = settings?.functions.folders ?? []
  return [...new Set([...configs, ...besides, ...functionFolders, ...folders, ...files])]
}

/**
 * Calls `changed` when the files of `sources` have changed and then stayed the same for a second. Resolves after the first scan
 * with a function that stops watching. It polls because mounted ConfigMaps and network file systems send no change events.
 */
export async function watchSources(
  sources: () => readonly string[],
  clock: Clock,
  changed: () => Promise<void>,
): Promise<() => void> {
  let seen = new Map<string, string>()
  let isUnsettled = false
  let hasEnded = false
  let cancel = () => {}
  const look = async (): Promise<void> => {
    const now = new Map<string, string>()
    for (const path of sources()) now.set(path, await stampOf(path))
    // A path that a reload added is not a change.
    const differs = [...now].some(([path, stamp]) => (seen.get(path) ?? stamp) !== stamp)
    seen = now
    if (!differs && isUnsettled && !hasEnded) await changed()
    isUnsettled = differs
    if (!hasEnded) cancel = clock.after(intervalMs, () => void look())
  }
  await look()
  return () => {
    hasEnded = true
    cancel()
  }
}

/** A string that changes whenever the file, or a file in the folder, is written or replaced. */
async function stampOf(path: string, depth = 0): Promise<string> {
  try {
    const found = await stat(path)
    if (!found.isDirectory()) return `${path} ${found.ino} ${found.mtimeMs} ${found.size}`
    const names = depth < deepest ? (await readdir(path)).filter(isRead).sort() : []
    return (await Promise.all(names.map((name) => stampOf(join(path, name), depth + 1)))).join('\n')
  } catch {
    return `${path} absent`
  }
}

/** Skips the files that interpreters and editors write next to the sources. */
const isRead = (name: string): boolean =>
  !name.startsWith('.') &&
  name !== 'node_modules' &&
  name !== '__pycache__' &&
  (endings.has(extname(name)) || extname(name) === '')
