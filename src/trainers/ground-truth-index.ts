import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { GatewayError, type Problem } from '../core/errors.ts'
import { parseJsonText } from '../core/json/text.ts'
import type { Message, Sample } from '../core/sample/sample.ts'
import { eachInSlices } from '../core/slices.ts'
import { reasonOf } from '../core/system-error.ts'
import { readNativeFields } from './ground-truth.ts'
import type { GroundTruth } from './native.ts'

/** The lines of a `ground_truth_file` by prompt, for trainers that send no ground truth. */
export interface GroundTruthIndex {
  readonly file: string
  /** Prompts are compared by their turns. System turns and outer white space are ignored. */
  find(prompt: Sample['prompt']): GroundTruth | undefined
}

const turns = z.array(z.object({ role: z.string(), content: z.string() })).min(1)
const promptOf = z.union([z.string().min(1), turns])
const mostProblems = 20

/**
 * Reads JSON lines: `prompt` (text or messages) with the native fields of a ground truth. Works in slices. Rejects with
 * RG_CONFIG_INVALID and the unreadable lines, including a prompt with two different ground truths.
 */
export async function openGroundTruthIndex(file: string): Promise<GroundTruthIndex> {
  const byPrompt = new Map<string, { readonly truth: GroundTruth; readonly line: number }>()
  const problems: Problem[] = []
  let line = 0
  const take = (source: string): void => {
    line += 1
    if (source.trim() === '' || problems.length >= mostProblems) return
    const read = readLine(source)
    if ('problem' in read) {
      problems.push({ path: `${file}:${line}`, message: read.problem })
      return
    }
    const other = byPrompt.get(read.key)
    if (!other) byPrompt.set(read.key, { truth: read.truth, line })
    else if (JSON.stringify(other.truth) !== JSON.stringify(read.truth)) {
      const message = `line ${other.line} has another ground truth for this prompt`
      problems.push({ path: `${file}:${line}`, message })
    }
  }
  for await (const lines of linesOf(file)) {
    await eachInSlices(lines.length, (index) => take(lines[index] as string))
    if (problems.length >= mostProblems) break
  }
  if (problems.length === 0 && byPrompt.size === 0)
    problems.push({ path: file, message: 'is empty; write one JSON object per line' })
  if (problems.length > 0) throw invalid(file, problems)
  return { file, find: (prompt) => byPrompt.get(keyOf(prompt))?.truth }
}

/** Yields the lines of a file, one 64 KiB piece at a time. */
async function* linesOf(file: string): AsyncGenerator<readonly string[]> {
  let rest = ''
  try {
    for await (const piece of createReadStream(file, 'utf8')) {
      const lines = `${rest}${piece}`.split('\n')
      rest = lines.pop() ?? ''
      yield lines
    }
    yield [rest]
  } catch (error) {
    throw invalid(file, [{ path: file, message: reasonOf(error) }])
  }
}

/** Opens the file of each trainer that names one. Rejects with RG_CONFIG_INVALID for the first that cannot be read. */
export async function openGroundTruthIndexes(
  trainers: Readonly<Record<string, { readonly ground_truth_file?: string | undefined } | undefined>>,
): Promise<ReadonlyMap<string, GroundTruthIndex>> {
  const indexes = new Map<string, GroundTruthIndex>()
  for (const [name, settings] of Object.entries(trainers))
    if (settings?.ground_truth_file !== undefined)
      indexes.set(name, await openGroundTruthIndex(settings.ground_truth_file))
  return indexes
}

const invalid = (file: string, problems: readonly Problem[]): GatewayError =>
  new GatewayError('RG_CONFIG_INVALID', `the ground truths in ${file} cannot be used`, { problems })

function readLine(source: string): { key: string; truth: GroundTruth } | { problem: string } {
  let value: unknown
  try {
    const { value: parsed, literals } = parseJsonText(source)
    if (literals.length > 0)
      return { problem: `${literals[0]?.path.join('.')}: NaN and integers beyond 2^53 are not allowed` }
    value = parsed
  } catch {
    return { problem: 'is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: 'is not an object' }
  const { prompt, ...rest } = value as { prompt?: unknown }
  const parsed = promptOf.safeParse(prompt)
  if (!parsed.success) return { problem: 'prompt: must be a text or messages with role and content' }
  const read = readNativeFields(rest, 'row')
  return 'problem' in read ? read : { key: keyOf(parsed.data), truth: read.truth }
}

/** Where data sets say that an image belongs. Its place is no part of the question. */
const places = /<(?:image|video|audio)>/g

/** A plain text counts as the user's turn. System turns do not count, because chat templates add their own. */
function keyOf(prompt: Sample['prompt']): string {
  const messages: readonly Message[] =
    typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  const said = messages.filter(({ role }) => role !== 'system')
  return JSON.stringify(said.map(({ role, content }) => [role, content.replace(places, '').trim()]))
}
