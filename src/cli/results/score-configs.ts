/** Commands that compare scored files take configs too, and score the rows of one file with each. */

import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rowOf, valueAt } from '../../workbench/dataset/row.ts'
import type { Io } from '../command.ts'
import { rewardOf, withGateway } from '../gateway.ts'
import { misused } from '../options.ts'
import { scoreFile } from '../rewards/score-file.ts'

/** A scored file. */
export interface ScoredBy {
  /** As the command line names it: a scored file or a config. */
  readonly file: string
  /** Where the scored rows are. */
  readonly path: string
  /** The tokens of the judges' questions about each row by its id, where there were any. null: the file was scored before. */
  readonly tokens: ReadonlyMap<string, number> | null
}

interface Scoring {
  /** The rows that configs score. */
  readonly input: string | undefined
  readonly functionFolders: readonly string[]
  /** For messages. */
  readonly command: string
}

/** Calls `work` with the scored files; those of configs are deleted afterwards. Throws RG_COMMAND_INVALID. */
export async function withScored<T>(
  files: readonly string[],
  { input, functionFolders, command }: Scoring,
  io: Io,
  work: (scored: readonly ScoredBy[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'reward-gateway-'))
  try {
    const scored: ScoredBy[] = []
    for (const [at, file] of files.entries()) {
      if (!(await isConfig(file))) {
        scored.push({ file, path: file, tokens: null })
        continue
      }
      if (input === undefined) throw misused(`${file} is a config: --input names the rows to score`, command)
      const path = join(folder, `${at}.jsonl`)
      scored.push({ file, path, tokens: await score(file, { input, output: path, functionFolders }, io) })
    }
    return await work(scored)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether a file is a config: YAML, or JSON that is neither a list of rows nor begins with one in a line. */
async function isConfig(file: string): Promise<boolean> {
  if (!file.endsWith('.json')) return /\.ya?ml$/.test(file)
  const { value } = rowOf(await firstLine(file))
  return !Array.isArray(value) && valueAt(value, 'id') === undefined
}

/** Of at most 64 KiB; `[]` for a list, '' for a file that cannot be read. */
async function firstLine(file: string): Promise<string> {
  const handle = await open(file).catch(() => null)
  if (!handle) return ''
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536))
    const head = buffer.toString('utf8', 0, bytesRead).trimStart()
    return head.startsWith('[') ? '[]' : (head.split('\n')[0] ?? '')
  } finally {
    await handle.close()
  }
}

/** Scores a file with an rm-config. Rows without a reward are counted on standard error. */
async function score(
  config: string,
  files: { readonly input: string; readonly output: string; readonly functionFolders: readonly string[] },
  io: Io,
): Promise<ReadonlyMap<string, number>> {
  const { input, output, functionFolders } = files
  const tokens = new Map<string, number>()
  await withGateway(
    { configs: [config], inline: [], functionFolders },
    io,
    (gateway) => {
      const job = {
        gateway,
        reward: rewardOf(gateway, undefined),
        input,
        output,
        batch: 512,
        keep: 'facts',
        resume: false,
        failedOnly: false,
      } as const
      return scoreFile({ ...job, label: config, allowInvalid: 1, calls: () => 0 }, io)
    },
    {
      engine: {
        voted({ answered, samples }) {
          if (!answered) return
          const each = (answered.tokens.prompt + answered.tokens.completion) / samples.length
          for (const { id } of samples) tokens.set(id, (tokens.get(id) ?? 0) + each)
        },
      },
    },
  )
  return tokens
}
