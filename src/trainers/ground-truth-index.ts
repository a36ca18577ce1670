import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { GatewayError, type Problem } from '../core/errors.ts'
import { parseJsonText } from '../core/json/text.ts'
import type { Message, Sample } from '../core/sample/sample.ts'
import { eachInSlices } from '../core/slices.ts'
import { reasonOf } from '../core/system-error.ts'
import type { WireSettings } from './format.ts'
import { readTruth } from './ground-truth.ts'
import type { Truth } from './native-sample.ts'

/** Ground truth and extra_info by prompt, for trainers that send neither. */
export interface GroundTruthIndex {
  readonly file: string
  /** Prompts are equal where their turns are, but for system turns and outer white space. */
  find(prompt: Sample['prompt']): Truth | undefined
}

const turns = z.array(z.object({ role: z.string(), content: z.string() })).min(1)
const promptOf = z.union([z.string().min(1), turns])
const mostProblems = 20

/**
 * Reads lines of JSON: `prompt` (text or messages) beside the native fields of a sample. Requests are answered meanwhile.
 * Rejects with RG_CONFIG_INVALID for every unreadable line, and where one prompt has two truths.
 */
export async function openGroundTruthIndex(file: string): Promise<GroundTruthIndex> {
  const byPrompt = new Map<string, { readonly truth: Truth; readonly line: number }>()
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
      const message = `line ${other.line} has another truth for this prompt`
      problems.push({ path: `${file}:${line}`, message })
    }
  }
  for await (const lines of linesOf(file)) {
    await eachInSlices(lines.length, (index) => take(lines[index] as string))
    if (problems.length >= mostProblems) break
  }
  if (problems.length === 0 && byPrompt.size === 0)
    problems.push({ path: file, message: 'holds no truths; write one JSON object a line' })
  if (problems.length > 0) throw invalid(file, problems)
  return { file, find: (prompt) => byPrompt.get(keyOf(prompt))?.truth }
}

/** The lines of a file, of which 64 KiB at a time are in memory. */
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

/** The truths of every wire that names a file, by the wire's name. Rejects with RG_CONFIG_INVALID for the first that cannot be read. */
export async function openWireTruths(
  wires: Readonly<Record<string, WireSettings | undefined>>,
): Promise<ReadonlyMap<string, GroundTruthIndex>> {
  const truths = new Map<string, GroundTruthIndex>()
  for (const [name, wire] of Object.entries(wires))
    if (wire?.ground_truth_file !== undefined)
      truths.set(name, await openGroundTruthIndex(wire.ground_truth_file))
  return truths
}

const invalid = (file: string, problems: readonly Problem[]): GatewayError =>
  new GatewayError('RG_CONFIG_INVALID', `the truths in ${file} are not in order`, { problems })

function readLine(source: string): { key: string; truth: Truth } | { problem: string } {
  let value: unknown
  try {
    const { value: parsed, oddities } = parseJsonText(source)
    if (oddities.length > 0)
      return { problem: `${oddities[0]?.path.join('.')}: neither NaN nor integers beyond 2^53 are taken` }
    value = parsed
  } catch {
    return { problem: 'is no JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: 'is no object' }
  const { prompt, ...rest } = value as { prompt?: unknown }
  const parsed = promptOf.safeParse(prompt)
  if (!parsed.success) return { problem: 'prompt: a text, or messages with role and content' }
  const read = readTruth(rest, 'row')
  return 'problem' in read ? read : { key: keyOf(parsed.data), truth: read.truth }
}

/** A plain text is what the user said; system turns are left out, since chat templates add their own. */
function keyOf(prompt: Sample['prompt']): string {
  const messages: readonly Message[] =
    typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  const said = messages.filter(({ role }) => role !== 'system')
  return JSON.stringify(said.map(({ role, content }) => [role, content.trim()]))
}
