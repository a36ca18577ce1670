/** Keeps two processes of one machine from writing to the same folder. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
  /** False once another process took the folder over: it could not see this one, as in another container. */
  isOwn(): Promise<boolean>
  release(): Promise<void>
}

/** Throws RG_CONFIG_INVALID if a living process owns the folder. A lock that a killed process left is taken over. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = join(folder, 'lock')
  const own = JSON.stringify({ ...ownerOf(process.pid), token: randomUUID() })
  const drafted = `${path}.${process.pid}.${randomUUID()}`
  await writeFile(drafted, own, { mode: 0o640 })
  try {
    await link(drafted, path)
    await unlink(drafted)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    const owner = await ownerIn(path)
    if (owner && isAlive(owner)) {
      await unlink(drafted)
      throw new GatewayError(
        'RG_CONFIG_INVALID',
        `queue.folder: process ${owner.pid} uses ${folder}; a folder belongs to one gateway`,
      )
    }
    await rename(drafted, path)
  }
  const isOwn = async () => (await readFile(path, 'utf8').catch(() => '')) === own
  return {
    isOwn,
    async release() {
      if (await isOwn()) await unlink(path).catch(() => {})
    },
  }
}

async function ownerIn(path: string): Promise<Owner | null> {
  try {
    const { pid, boot, began } = JSON.parse(await readFile(path, 'utf8'))
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
