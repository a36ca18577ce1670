import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder, and those above it that are missing. Rejects with the system's error, as if it exists as a file. Node's own
 * `recursive` never returns where the system refuses a name with ENOENT although the folder above exists, as Linux does in /proc.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  const folder = resolve(path)
  const above = dirname(folder)
  if (above !== folder && !(await exists(above))) await makeFolder(above, mode)
  try {
    await mkdir(folder, mode)
  } catch (error) {
    const isThere = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (!isThere) throw error
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
