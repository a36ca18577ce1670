import type { Io } from './command.ts'

/**
 * The path of rows on this machine. `hf://` addresses are downloaded into the cache first; other paths, and '-', stay as they
 * are. Throws RG_INPUT_INVALID.
 */
export async function localData(path: string, io: Io): Promise<string> {
  if (!path.startsWith('hf://')) return path
  const { hubFiles } = await import('../workbench/dataset/hub-files.ts')
  return hubFiles(path, { env: io.env, signal: io.signal, tell: (line) => io.stderr.write(`${line}\n`) })
}
