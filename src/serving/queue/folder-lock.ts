/** Keeps two processes of one machine from writing to the same folder. */
import { hash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { codeOf } from '../../core/system-error.ts'

/** A process of a machine since its last boot. */
interface Owner {
  readonly pid: number
  readonly boot: string
  /** When the process began, in ticks since the boot; '' where the system does not say. */
  readonly began: string
}

/** A folder that this process owns. */
export interface FolderLock {
  /** False once another process took the folder over: it could not see this one, as in another container. Rejects if the lock cannot be read. */
  isOwn(): Promise<boolean>
  release(): Promise<void>
}

/**
 * Throws RG_CONFIG_INVALID if a living process owns the folder, and the system's error if its lock cannot be read. A lock that a
 * killed process left is taken over, by one process only.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = join(folder, 'lock')
  const own = JSON.stringify({ ...ownerOf(process.pid), token: randomUUID() })
  const drafted = `${path}.${process.pid}.${randomUUID()}`
  await writeFile(drafted, own, { mode: 0o640 })
  try {
    while (!(await isTaken(drafted, path)));
  } finally {
    await unlink(drafted).catch(() => {})
  }
  for (const name of await readdir(folder))
    if (name.startsWith(`lock${after}`)) await unlink(join(folder, name)).catch(() => {})
  const isOwn = async () => (await readFile(path, 'utf8')) === own
  return {
    isOwn,
    async release() {
      if (await isOwn().catch(() => false)) await unlink(path).catch(() => {})
    },
  }
}

/** Of the name under which a process takes over from a killed one: only one can make that name. It ends with a hash of the lock before. */
const after = '.after-'

/**
 * Makes the drafted lock the folder's. False: the lock has changed meanwhile, so look again. A process that takes over may be killed, too, and
 * the next one then takes over from it: each killed owner has one successor, and the last of them renames its lock.
 */
async function isTaken(drafted: string, path: string): Promise<boolean> {
  if (await isLinked(drafted, path)) return true
  const found = await textIn(path)
  let next = path
  for (let last = found; ; last = await textIn(next)) {
    if (last === null) return false
    const owner = ownerIn(last)
    if (owner && isAlive(owner))
      throw new GatewayError(
        'RG_CONFIG_INVALID',
        `queue.folder: process ${owner.pid} uses ${dirname(path)}; a folder belongs to one gateway`,
      )
    next = `${path}${after}${hash('sha256', `${basename(next)} ${last}`).slice(0, 32)}`
    if (await isLinked(drafted, next)) break
  }
  // Another process may have taken over, and have removed the name that we just made.
  if ((await textIn(path)) !== found) {
    await unlink(next).catch(() => {})
    return false
  }
  await rename(next, path)
  return true
}

/** False if there is a file of that name. */
async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    return false
  }
}

/** null: there is no such file. */
async function textIn(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return null
  }
}

/** null: nobody's, as of a file that a power failure left empty. */
function ownerIn(text: string): Owner | null {
  try {
    const { pid, boot, began } = JSON.parse(text)
    return { pid: Number(pid), boot: String(boot), began: String(began) }
  } catch {
    return null
  }
}

const isAlive = ({ pid, boot, began }: Owner): boolean => {
  if (!Number.isInteger(pid) || pid <= 0) return false
  const now = ownerOf(pid)
  return now.boot === boot && now.began === began && isRunning(pid)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function ownerOf(pid: number): Owner {
  const boot = textOf('/proc/sys/kernel/random/boot_id').trim()
  // The name of the command is in parentheses and may hold spaces; the time is field 22.
  const began =
    textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')[19] ?? ''
  return { pid, boot, began }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
