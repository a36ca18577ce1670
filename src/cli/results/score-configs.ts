/** Commands that compare scored files take configs too, and score the rows of one file with each. */

import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { didYouMean } from '../../core/nearest-name.ts'
import { rowOf, valueAt } from '../../workbench/dataset/row.ts'
import type { Keep } from '../../workbench/dataset/scored-file.ts'
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
  /** Steps that each config must have. */
  readonly terms?: readonly string[]
  /** What the files of configs keep of each sample. Default: facts. */
  readonly keep?: Keep
}

/** Calls `work` with the scored files; those of configs are deleted afterwards. Throws RG_COMMAND_INVALID. */
export async function withScored<T>(
  files: readonly string[],
  { input, functionFolders, command, terms = [], keep = 'facts' }: Scoring,
  io: Io,
  work: (scored: readonly ScoredBy[]) => Promise<T>,
): Promise<T> {
  const configs: string[] = []
  for (const file of files) if (await isConfig(file)) configs.push(file)
  const [first] = configs
  if (first && input === undefined)
    throw misused(`${first} is a config: --input names the rows to score`, command)
  // A mistake in the last config is found before the judges of the first are paid.
  if (configs.length > 1 || terms.length > 0)
    for (const file of configs) await checkConfig(file, { functionFolders, command, terms }, io)
  const folder = await mkdtemp(join(tmpdir(), 'reward-gateway-'))
  try {
    const scored: ScoredBy[] = []
    for (const [at, file] of files.entries()) {
      if (input === undefined || !configs.includes(file)) {
        scored.push({ file, path: file, tokens: null })
        continue
      }
      const path = join(folder, `${at}.jsonl`)
      scored.push({
        file,
        path,
        tokens: await score(file, { input, output: path, functionFolders, keep }, io),
      })
    }
    return await work(scored)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Throws for a config with mistakes, with several rewards or without one of the steps. */
const checkConfig = (
  file: string,
  { functionFolders, command, terms = [] }: Pick<Scoring, 'functionFolders' | 'command' | 'terms'>,
  io: Io,
): Promise<void> =>
  withGateway({ configs: [file], inline: [], functionFolders }, io, async (gateway) => {
    const steps = gateway.reward(rewardOf(gateway, undefined)).steps.map(({ name }) => name)
    const missing = terms.find((term) => !steps.includes(term))
    if (missing !== undefined)
      throw misused(
        `${file} has no step '${missing}'${didYouMean(missing, steps)} (it has ${steps.join(', ')})`,
        command,
      )
  })

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
  job: {
    readonly input: string
    readonly output: string
    readonly functionFolders: readonly string[]
    readonly keep: Keep
  },
  io: Io,
): Promise<ReadonlyMap<string, number>> {
  const { functionFolders, ...files } = job
  const tokens = new Map<string, number>()
  await withGateway(
    { configs: [config], inline: [], functionFolders },
    io,
    (gateway) => {
      const reward = rewardOf(gateway, undefined)
      const whole = { batch: 512, resume: false, failedOnly: false, allowInvalid: 1 }
      return scoreFile({ gateway, reward, ...files, ...whole, label: config, calls: () => 0 }, io)
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
