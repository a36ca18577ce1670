import { writeFile } from 'node:fs/promises'
import { unwritable } from '../workbench/dataset/unwritable.ts'
import type { Io } from './command.ts'

/** Writes what a command made to a file, or to standard output where none (or '-') is named. Throws RG_INPUT_INVALID. */
export async function deliver(content: string | Uint8Array, file: string | undefined, io: Io): Promise<void> {
  if (file === undefined || file === '-') io.stdout.write(content)
  else await writeFile(file, content).catch(unwritable)
}
