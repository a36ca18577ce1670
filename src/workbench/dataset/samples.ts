import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import type { PlanStep } from '../../scoring/plan/plan.ts'
import { badSample, nativeSample, readNativeSample } from '../../trainers/native.ts'
import { type Fields, isObject, type RawRow, valueAt } from './row.ts'

/**
 * Converts a file's row to samples. It accepts rows in the format of /v1/score, verl data sets
 * (`reward_model.ground_truth`, `images`, `rm_prompt_<i>` for the i-th of `modelSteps`) with `response` or
 * `responses`, verl's rollout dumps (`input`, `output`, `gts`), and data sets with a column `rubrics` or `rubric`.
 */
export function samplesOf(
  { value: sent, literals }: RawRow,
  index: number,
  modelSteps: readonly string[],
): readonly (Sample | Unreadable)[] {
  if (sent === undefined) return [badSample(String(index), `row ${index + 1} of the file is not JSON`)]
  if (!isObject(sent)) return [readNativeSample(sent, index, literals)]
  const value = 'images' in sent ? withImageColumn(sent) : sent
  if (!isDatasetRow(value)) {
    // Removed so that a file for `audit` can be scored as well.
    const { near_miss: _, ...row } = value
    const unknown = unknownColumns(row)
    if (unknown !== null) return [badSample(String(row.id ?? index), unknown)]
    return [readNativeSample('near_miss' in value ? row : value, index, literals)]
  }
  const { responses, ...row } = datasetRow(value, modelSteps)
  const own = literals.filter(({ path: [field] }) => field !== undefined && usedColumns.has(String(field)))
  if (!Array.isArray(responses)) return [readNativeSample(row, index, own)]
  const id = String(row.id ?? index)
  return responses.map((response, k) =>
    readNativeSample(
      { ...row, response, id: `${id}/${k}`, group_id: id, group_index: k, group_size: responses.length },
      index,
      own,
    ),
  )
}

const mostShownColumns = 12

/**
 * What to do with a row of a data set that has columns of its own. null for a row with a single unknown field, which is
 * misspelt: readNativeSample says what was meant.
 */
function unknownColumns(row: Fields): string | null {
  const unknown = Object.keys(row).filter((name) => !Object.hasOwn(nativeSample.shape, name))
  if (unknown.length < 2) return null
  const shown = unknown.slice(0, mostShownColumns).map((name) => JSON.stringify(name.slice(0, 40)))
  const more = unknown.length > shown.length ? ', ...' : ''
  return `unknown columns ${shown.join(', ')}${more}. A row has prompt, response and ground_truth, or the columns of verl's data sets: rename yours (docs/scoring-files.md), or let 'reward-gateway prepare' write the rows (docs/prepare.md)`
}

/** The names of a reward's model steps, in the order of the `rm_prompt_<i>` columns. */
export const modelStepNames = (
  steps: readonly { readonly name: string; readonly ask: string | null }[],
): readonly string[] => steps.flatMap(({ name, ask }) => (ask === null ? [] : [name]))

const rmPromptColumn = /^rm_prompt_\d+$/

const isDatasetRow = (row: Fields): boolean =>
  isObject(row.reward_model) ||
  hasRubricColumn(row) ||
  Array.isArray(row.responses) ||
  ('output' in row && 'input' in row) ||
  Object.keys(row).some((name) => rmPromptColumn.test(name))

const rubricColumns = ['rubrics', 'rubric'] as const
/** What is beside a rubric in data sets and tells whose it is. */
const besideRubrics = ['rubrics_types', 'query', 'Question'] as const

const hasRubricColumn = (row: Fields): boolean => rubricColumns.some((name) => row[name] != null)

/** What the policy was asked. Data sets of rubrics call it a question or a query. */
export const promptColumn = (row: Fields): unknown =>
  row.prompt ??
  row.input ??
  (hasRubricColumn(row) ? (row.question ?? row.query ?? row.Question) : undefined) ??
  undefined

/** The row's extra_info with its rubric, where judges look for one. One that stands there already keeps its name. */
function infoWithRubric(row: Fields): unknown {
  if (!hasRubricColumn(row)) return row.extra_info
  const info = isObject(row.extra_info) ? row.extra_info : {}
  const own = rubricColumns.flatMap((name) => {
    const place = name in info ? rubricColumns.find((other) => !(other in info)) : name
    return row[name] == null || place === undefined ? [] : [[place, row[name]] as const]
  })
  const beside = besideRubrics.flatMap((name) => (row[name] == null ? [] : [[name, row[name]] as const]))
  return { ...Object.fromEntries(beside), ...info, ...Object.fromEntries(own) }
}

const usedColumns: ReadonlySet<string> = new Set([
  ...['reward_model', 'gts', 'ground_truth', 'extra_info'],
  ...rubricColumns,
])

/** Other columns belong to the data set and are ignored. */
function datasetRow(row: Fields, modelSteps: readonly string[]): Fields & { readonly responses?: unknown } {
  const truth = isObject(row.reward_model) ? row.reward_model.ground_truth : row.gts
  return {
    id: row.id ?? undefined,
    prompt: promptColumn(row),
    response: row.response ?? row.output,
    responses: row.responses,
    ground_truth: row.ground_truth ?? truth,
    data_source: row.data_source,
    group_id: row.group_id,
    extra_info: infoWithRubric(row),
    ...(Array.isArray(row.responses) ? {} : ofRollout(row)),
    ...rmPromptColumns(row, modelSteps),
  }
}

const { status, tokens, policy_version, environment, group_index, group_size, rm_prompts } =
  nativeSample.shape
const rolloutFields = { status, tokens, policy_version, environment }
const groupFields = { group_index, group_size, rm_prompts }

/** What a row says of its rollout. Columns of a data set that have such a name but mean something else are ignored. */
const ofRollout = (row: Fields): Fields =>
  Object.fromEntries(
    Object.entries(hasRubricColumn(row) ? { ...rolloutFields, ...groupFields } : rolloutFields).flatMap(
      ([name, field]) => (row[name] != null && field.safeParse(row[name]).success ? [[name, row[name]]] : []),
    ),
  )

const column = /^rm_prompt_(\d{1,3})$/

/**
 * Maps the columns `rm_prompt` and `rm_prompt_<i>` to a sample's `rm_prompt` and `rm_prompts`. `judges` are
 * the reward's model steps in order. Empty cells and surplus columns are skipped.
 */
export function rmPromptColumns(
  row: Readonly<Record<string, unknown>>,
  judges: readonly string[],
): { readonly rm_prompt?: string; readonly rm_prompts?: Readonly<Record<string, string>> } {
  const prompts = Object.entries(row).flatMap(([key, value]) => {
    const index = column.exec(key)?.[1]
    const judge = index === undefined ? undefined : judges[Number(index)]
    return judge !== undefined && typeof value === 'string' ? [[judge, value] as const] : []
  })
  const { rm_prompt: shared } = row
  return {
    ...(typeof shared === 'string' && { rm_prompt: shared }),
    ...(prompts.length > 0 && { rm_prompts: Object.fromEntries(prompts) }),
  }
}

/** A row with its known right and wrong answers. */
export interface KnownAnswers {
  readonly row: Fields
  /** Its response is the right answer or, if there is none, `ignorance`. */
  readonly sample: Sample
  /** The row with its response as it is. null if that is a text or absent. */
  readonly rollout: Sample | null
  /** The right answer. null if the row has none. */
  readonly gold: string | null
  /** Wrong answers in the right format. */
  readonly nearMisses: readonly string[]
}

/** An answer without content. */
export const ignorance = 'I do not know.'

const usualPath = 'extra_info.answer'

/**
 * Reads the row at `index`. Returns a message if it is not a usable row. The right answer is at `goldPath`,
 * by default in `extra_info.answer` or else the response. Wrong answers are in `near_miss`, in the row or in
 * its extra_info.
 */
export function knownAnswers(
  { value, literals }: RawRow,
  index: number,
  modelSteps: readonly string[],
  goldPath: string | null,
): KnownAnswers | string {
  if (value === undefined) return 'the line is not JSON'
  if (!isObject(value)) return 'the row is not an object'
  const { near_miss: own, responses: _, response, output: __, status, ...row } = value
  const read = Array.isArray(response)
    ? samplesOf({ value: { ...row, status, response }, literals }, index, modelSteps)[0]
    : null
  if (read && 'failure' in read) return read.failure.detail
  const said = read ? read.response : response
  const gold = textOf(valueAt(value, goldPath ?? usualPath)) ?? (goldPath === null ? textOf(said) : null)
  const nearMisses = [own ?? valueAt(row, 'extra_info.near_miss') ?? []].flat()
  if (!nearMisses.every((one) => typeof one === 'string'))
    return 'near_miss must be a string or a list of strings'
  const [sample] = samplesOf({ value: { ...row, response: gold ?? ignorance }, literals }, index, modelSteps)
  if (!sample || 'failure' in sample) return sample?.failure.detail ?? 'the row is not a sample'
  return { row, sample, rollout: read?.turns ? read : null, gold, nearMisses }
}

/** A right answer as a response. The program of a data set has no fence, by which steps that run programs find it. */
export function asResponse(
  answer: string,
  steps: readonly Pick<PlanStep, 'kind' | 'dataSource' | 'function'>[],
  dataSource: string | undefined,
): string {
  const [step, ...others] = steps.filter(
    ({ kind, dataSource: own }) => kind === 'program' && (own === null || own.matches(dataSource)),
  )
  if (step === undefined || answer.includes('```')) return answer
  const optionsOf = ({ function: { options } }: typeof step) => (isObject(options) ? options : {})
  if ([step, ...others].every((one) => optionsOf(one).fence === 'none')) return answer
  return `\`\`\`${optionsOf(step).language ?? 'python'}\n${answer}\n\`\`\``
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : null

const mark = '<image>'

/**
 * The row with its column `images`, of data sets such as verl's Geometry3K, where `<image>` stands in the prompt, as verl puts
 * them; images without such a mark stand before the last question. The same row if it has none.
 */
function withImageColumn(row: Fields): Fields {
  const { images, ...rest } = row
  const given = Array.isArray(images) ? images : images === undefined || images === null ? [] : [images]
  const { prompt } = row
  const isPrompt = typeof prompt === 'string' || Array.isArray(prompt)
  if (given.length === 0 || !isPrompt) return 'images' in row && given.length === 0 ? rest : row
  const left = given.map(partOf)
  const asked: unknown[] = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  const messages = asked.map((message) => {
    if (!isObject(message) || typeof message.content !== 'string' || !message.content.includes(mark))
      return message
    return { ...message, content: placed(message.content, left) }
  })
  if (left.length > 0) {
    const last = messages.findLastIndex((one) => isObject(one) && one.role === 'user')
    const message = messages[last] as Fields | undefined
    if (message) messages[last] = { ...message, content: [...left, ...partsOf(message.content)] }
    else messages.push({ role: 'user', content: left })
  }
  return { ...rest, prompt: messages }
}

/** A data URL, base64, an address or a path; or an object with `bytes` in base64 or a `path`. */
const partOf = (image: unknown): object =>
  isObject(image) ? { ...image, type: 'image' } : { type: 'image', image }

/** Takes from `left` what it places. A mark without an image stays text. */
function placed(content: string, left: object[]): readonly object[] {
  const [first = '', ...others] = content.split(mark)
  const parts: object[] = [{ type: 'text', text: first }]
  for (const text of others) {
    const image = left.shift()
    parts.push(image ?? { type: 'text', text: mark }, { type: 'text', text })
  }
  return parts.filter((part) => !('text' in part && part.text === ''))
}

const partsOf = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: typeof content === 'string' ? content : '' }]
