/** Whether a text follows the instructions of IFEval, IFBench or Open-Instruct. */
import { trimSpace } from '../characters.ts'
import { readPythonLiteral } from '../python-literal.ts'
import { ifbenchForm } from './ifbench-form.ts'
import { ifbenchWords } from './ifbench-words.ts'
import { ifeval } from './ifeval.ts'
import type { Instruction, Reading } from './instruction.ts'
import { openInstruct } from './open-instruct.ts'
import { linesOf, shown, Unanswerable } from './reading.ts'

const kinds: ReadonlyMap<string, Instruction> = new Map(
  Object.entries({ ...ifeval, ...ifbenchWords, ...ifbenchForm, ...openInstruct }),
)

/** Kinds that need data which we do not have, and what that is. */
const unsupported: ReadonlyMap<string, string> = new Map([
  ['words:start_verb', "NLTK's trained tagger"],
  ['words:odd_even_syllables', "syllapy's dictionary of syllables"],
])

/** One instruction of a row, with its arguments read. */
interface Wanted {
  readonly id: string
  readonly kind: Instruction
  readonly args: unknown
}

/** The instructions of a row, in their order. `isOpenInstruct`: the row has the form of Open-Instruct's IFEvalG. */
export interface Instructions {
  readonly all: readonly Wanted[]
  readonly isOpenInstruct: boolean
}

/** Reads one instruction, or says what is wrong with it. */
function wantedOf(
  id: string,
  given: Readonly<Record<string, unknown>>,
): Wanted | { readonly mistake: string } {
  const kind = kinds.get(id)
  if (!kind) {
    const needs = unsupported.get(id)
    return {
      mistake:
        needs === undefined
          ? `there is no instruction '${id.slice(0, 100)}'`
          : `the instruction '${id}' is not supported: it needs ${needs}`,
    }
  }
  const args = kind.args.safeParse(given)
  if (args.success) return { id, kind, args: args.data }
  const [first] = args.error.issues
  const at = first?.path.join('.')
  return { mistake: `${id}: ${at ? `${at}: ` : ''}${first?.message ?? 'wrong arguments'}` }
}

/** The texts of IFEval's loose matching: with and without the first and last line, and with and without `*`. */
function looseTexts(text: string): string[] {
  const lines = linesOf(text)
  const cuts = [
    text,
    trimSpace(lines.slice(1).join('\n')),
    trimSpace(lines.slice(0, -1).join('\n')),
    trimSpace(lines.slice(1, -1).join('\n')),
  ]
  return [...new Set([...cuts, ...cuts.map((cut) => cut.replaceAll('*', ''))])].filter(
    (cut) => trimSpace(cut) !== '',
  )
}

/**
 * Whether a text follows each instruction, in their order. A blank text follows none. Where a published check raises for
 * a text, this throws Unanswerable in `published` mode; otherwise the text does not follow.
 */
export function follows(
  text: string,
  wanted: readonly Wanted[],
  matching: 'strict' | 'loose',
  reading: Reading,
): boolean[] {
  const texts = trimSpace(text) === '' ? [] : matching === 'loose' ? looseTexts(text) : [text]
  return wanted.map(({ kind, args }) => texts.some((one) => holds(kind, one, args, reading)))
}

function holds(kind: Instruction, text: string, args: unknown, reading: Reading): boolean {
  try {
    return kind.holds(text, args as never, reading)
  } catch (error) {
    if (error instanceof Unanswerable && !reading.published) return false
    throw error
  }
}

/**
 * The instructions of a row: `{ instruction_id_list, kwargs }` (IFEval, IFBench), `{ instruction_id, kwargs }`
 * (Open-Instruct's IFEvalG), a list of one of these, or one of these as JSON text or as text of a Python literal. Arguments
 * that are null do not count; in `published` mode of IFEval neither do 0, '' and [].
 */
export function instructionsOf(
  given: unknown,
  { published }: Reading,
): Instructions | { readonly mistake: string } {
  const row = unpacked(given, 3)
  if (!isRecord(row) || (row.instruction_id_list ?? row.instruction_id) === undefined)
    return { mistake: 'has no instruction_id_list and kwargs' }
  const isOpenInstruct = row.instruction_id_list === undefined
  const named = unpacked(row.instruction_id_list ?? row.instruction_id, 1)
  const all = unpacked(row.kwargs ?? [], 1)
  if (!isTexts(named) || named.length === 0) return { mistake: 'instruction_id_list is not a list of names' }
  const ids = [...named]
  if (!Array.isArray(all)) return { mistake: 'kwargs is not a list' }
  // Open-Instruct checks as many as both lists have.
  if (all.length > 0 && all.length !== ids.length && !(published && isOpenInstruct))
    return { mistake: `kwargs has ${all.length} entries for ${ids.length} instructions` }
  if (published && isOpenInstruct) ids.length = Math.min(ids.length, all.length)
  const wanted: Wanted[] = []
  for (const [at, id] of ids.entries()) {
    const args = unpacked(all[at] ?? {}, 1)
    if (!isRecord(args)) return { mistake: `kwargs.${at} is no object` }
    const isGiven = (value: unknown): boolean =>
      value !== null && !(published && !isOpenInstruct && Object.hasOwn(ifeval, id) && isEmpty(value))
    const own = wantedOf(
      id,
      Object.fromEntries(
        Object.entries(args)
          .filter(([, value]) => isGiven(value))
          .map(([name, value]) => [name, published ? value : shownArgument(value)]),
      ),
    )
    if ('mistake' in own) return own
    wanted.push(own)
  }
  return { all: wanted, isOpenInstruct }
}

const shownArgument = (value: unknown): unknown =>
  typeof value === 'string' ? shown(value) : isTexts(value) ? value.map(shown) : value

const isEmpty = (value: unknown): boolean =>
  value === 0 || value === '' || (Array.isArray(value) && value.length === 0)

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value that may be written as JSON text or as a Python literal, and may stand alone in a list. */
function unpacked(given: unknown, depth: number): unknown {
  if (depth > 0 && typeof given === 'string') {
    const read = readLiteral(given)
    return read === undefined ? given : unpacked(read, depth - 1)
  }
  if (depth > 1 && Array.isArray(given) && given.length === 1) return unpacked(given[0], depth - 1)
  return given
}

/** JSON text or a Python literal; undefined: neither. */
function readLiteral(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return readPythonLiteral(text)
  }
}
