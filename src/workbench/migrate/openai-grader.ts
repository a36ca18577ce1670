import { parse, stringify } from 'yaml'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { type GraderSteps, type GraderType, graderShapes, multiShape, stepOfGrader } from './grader-steps.ts'
import { type Imported, modelNames } from './imported.ts'

const deepest = 8
const longest = 4 * 1024 * 1024

/**
 * Converts an OpenAI grader to an rm-config. `python` graders become files beside it. Problems start with
 * `file`; `name` is the reward's name. Throws RG_INPUT_INVALID with every mistake.
 */
export function importOpenaiGrader(file: string, text: string, name: string): Imported {
  const problems: Problem[] = []
  const problem = (at: string, message: string) => problems.push({ path: `${file}: ${at}`, message })
  const around: GraderSteps = {
    steps: [],
    models: {},
    files: [],
    notes: [],
    dropped: [],
    reward: name,
    modelName: modelNames(),
    problem,
  }
  const grader = unwrapped(readJson(file, text))
  const expression = compiled(grader, 'grader', nameIn(grader) ?? 'grader', around, 0)
  if (problems.length > 0)
    throw new GatewayError('RG_INPUT_INVALID', `${file}: the grader has mistakes`, { problems })
  const { steps, models, files, notes, dropped } = around
  const config = {
    description: 'Imported from an OpenAI grader.',
    ...(Object.keys(models).length > 0 && { models }),
    steps,
    ...((steps.length > 1 || expression !== steps[0]?.name) && { formula: expression }),
  }
  return {
    files: [{ path: `${name}.yaml`, text: stringify(config, { lineWidth: 110 }) }, ...files],
    notes: [
      "{{item.x}} is read from the row's extra_info.x, {{item.ground_truth}} from its ground_truth",
      ...new Set(notes),
    ],
    dropped,
  }
}

function readJson(file: string, text: string): unknown {
  const invalid = (message: string) =>
    new GatewayError('RG_INPUT_INVALID', `${file}: ${message}`, { problems: [{ path: file, message }] })
  if (text.length > longest) throw invalid(`has more than ${longest} characters`)
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch {
    throw invalid('is neither JSON nor YAML')
  }
}

/** Fine-tuning settings have the grader under `method.reinforcement.grader`. */
function unwrapped(settings: unknown): unknown {
  return ['method', 'reinforcement', 'grader'].reduce(
    (value, key) => (isObject(value) && !isGrader(value) && key in value ? value[key] : value),
    settings,
  )
}

const isGrader = ({ type }: Readonly<Record<string, unknown>>): boolean =>
  type === 'multi' || (typeof type === 'string' && Object.hasOwn(graderShapes, type))

/** Adds a grader's steps and returns the expression of its value. */
function compiled(grader: unknown, at: string, name: string, around: GraderSteps, depth: number): string {
  if (!isObject(grader)) {
    around.problem(at, 'must be a grader, an object with a type')
    return '0'
  }
  const { type } = grader
  if (type === 'multi') return combined(grader, at, name, around, depth)
  const known = Object.keys(graderShapes)
  if (typeof type !== 'string' || !known.includes(type)) {
    around.problem(
      `${at}.type`,
      `${JSON.stringify(type) ?? 'missing'} is not a grader type${didYouMean(String(type), known)}`,
    )
    return '0'
  }
  return stepOfGrader(type as GraderType, grader, at, name, around)
}

function combined(grader: object, at: string, name: string, around: GraderSteps, depth: number): string {
  const read = multiShape.safeParse(grader)
  if (!read.success) {
    for (const { path, message } of read.error.issues) around.problem([at, ...path].join('.'), message)
    return '0'
  }
  if (depth >= deepest) {
    around.problem(at, `is nested deeper than ${deepest}`)
    return '0'
  }
  const { graders, calculate_output: output } = read.data
  const expressions = new Map<string, string>()
  for (const [key, inner] of entriesOf(graders)) {
    const path = `${at}.graders.${key}`
    if (expressions.has(key)) around.problem(path, `there is another grader '${key}'`)
    const inside = compiled(inner, path, depth === 0 ? key : `${name}_${key}`, around, depth + 1)
    expressions.set(key, isObject(inner) && inner.type === 'multi' ? `(${inside})` : inside)
  }
  const result = formulaOf(output, expressions)
  if ('formula' in result) return result.formula
  for (const mistake of result.mistakes) around.problem(`${at}.calculate_output`, mistake)
  return '0'
}

/** Graders by name. The names of a single grader or of a list are inside. */
function entriesOf(
  graders: Readonly<Record<string, unknown>> | readonly unknown[],
): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(graders) && !('type' in graders && typeof graders.type === 'string'))
    return Object.entries(graders)
  return [graders].flat().map((one, index) => [nameIn(one) ?? `grader_${index + 1}`, one] as const)
}

const nameIn = (grader: unknown): string | undefined =>
  isObject(grader) && typeof grader.name === 'string' ? grader.name : undefined

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The functions of calculate_output. An rm-config's formula has all of them. */
const functions = ['min', 'max', 'abs', 'floor', 'ceil', 'exp', 'sqrt', 'log']
const longestFormula = 4096

/**
 * Converts `calculate_output` to a formula: names become expressions and `^` becomes `**`. Otherwise returns
 * every mistake.
 */
function formulaOf(
  source: string,
  expressions: ReadonlyMap<string, string>,
): { readonly formula: string } | { readonly mistakes: readonly string[] } {
  if (source.length > longestFormula) return { mistakes: [`has more than ${longestFormula} characters`] }
  const names = [...expressions.keys()].sort((a, b) => b.length - a.length).map(escaped)
  const token = new RegExp(`(?<![\\w.])(?:${[...names, '[A-Za-z_]\\w*'].join('|')})(?![\\w.])|\\^`, 'g')
  const mistakes: string[] = []
  const formula = source.replace(token, (found) => {
    if (found === '^') return '**'
    const expression = expressions.get(found)
    if (expression !== undefined) return expression
    if (!functions.includes(found))
      mistakes.push(
        `there is no grader '${found}'${didYouMean(found, [...expressions.keys(), ...functions])}`,
      )
    return found
  })
  return mistakes.length > 0 ? { mistakes } : { formula }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
