import { z } from 'zod'
import { reservedNames } from '../../scoring/plan/expression.ts'
import { addressVariable } from './imported.ts'

/** The config that is built from the graders so far. */
export interface GraderSteps {
  readonly steps: { readonly name: string; readonly [key: string]: unknown }[]
  readonly models: Record<string, object>
  readonly files: { readonly path: string; readonly text: string }[]
  readonly notes: string[]
  readonly dropped: string[]
  /** The name of the reward. */
  readonly reward: string
  modelName(path: string): string
  problem(at: string, message: string): void
}

interface Place {
  readonly at: string
  readonly name: string
}

type Compiler<K extends GraderType> = (grader: Grader<K>, place: Place, around: GraderSteps) => void

/** Adds a grader's step and returns its name. `name` is the author's. */
export function stepOfGrader(
  type: GraderType,
  grader: object,
  at: string,
  name: string,
  around: GraderSteps,
): string {
  const read = graderShapes[type].safeParse(grader)
  if (!read.success) {
    for (const issue of read.error.issues) around.problem([at, ...issue.path].join('.'), issue.message)
    return '0'
  }
  const step = stepName(
    name,
    around.steps.map((one) => one.name),
  )
  const compile = compilers[type] as Compiler<GraderType>
  compile(read.data, { at, name: step }, around)
  return step
}

const compilers: { readonly [K in GraderType]: Compiler<K> } = {
  string_check({ input, reference, operation }, { name }, { steps }) {
    steps.push({ name, function: 'openai-string-check', options: { input, reference, operation } })
  },
  text_similarity(
    { input, reference, evaluation_metric: metric, pass_threshold: pass },
    { at, name },
    { steps, notes, problem },
  ) {
    if (!similarities.includes(metric))
      problem(
        `${at}.evaluation_metric`,
        `'${metric}' is not supported; choose one of ${similarities.join(', ')}`,
      )
    if (metric === 'cosine') notes.push('cosine compares word counts here, not embeddings')
    const options = { input, reference, metric, ...(pass !== undefined && { pass }) }
    steps.push({ name, function: 'openai-text-similarity', options })
  },
  score_model({ input, range, pass_threshold, ...asked }, place, around) {
    if (pass_threshold !== undefined)
      around.dropped.push(`${place.at}.pass_threshold: a reward has no pass threshold`)
    const options = { input: messagesOf(input), ...(range && { range }) }
    askingStep('openai-score-model', options, asked, place, around)
  },
  label_model({ input, labels, passing_labels, ...asked }, place, around) {
    askingStep(
      'openai-label-model',
      { input: messagesOf(input), labels, passing_labels },
      asked,
      place,
      around,
    )
  },
  python({ source, image_tag, pass_threshold }, { at, name }, { steps, files, notes, dropped, reward }) {
    const file = `${reward}_${name}`
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
    files.push({ path: `reward-functions/${file}.py`, text: pythonFile(source) })
    notes.push(
      `the source of ${at} is in reward-functions/${file}.py: give that folder by --reward-functions, or name it in functions.folders of gateway.yaml, and install what it imports`,
    )
    if (image_tag) dropped.push(`${at}.image_tag: the file runs with your own Python packages`)
    if (pass_threshold !== undefined) dropped.push(`${at}.pass_threshold: a reward has no pass threshold`)
    steps.push({ name, function: file, options: { function: 'compute_score' } })
  },
}

const similarities = [
  'cosine',
  'fuzzy_match',
  'bleu',
  'gleu',
  'rouge_1',
  'rouge_2',
  'rouge_3',
  'rouge_4',
  'rouge_5',
  'rouge_l',
]

interface Asked {
  readonly model: string
  readonly sampling_params?: Readonly<Record<string, unknown>> | null | undefined
}

const samplingNames: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  seed: 'seed',
  max_completions_tokens: 'max_tokens',
}

function askingStep(
  name: string,
  options: object,
  { model, sampling_params: given }: Asked,
  place: Place,
  { steps, models, notes, dropped, modelName, problem }: GraderSteps,
): void {
  const global = modelName(model)
  const variable = addressVariable(global)
  const sampling: Record<string, number> = {}
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === null) continue
    const at = `${place.at}.sampling_params.${key}`
    const ours = Object.hasOwn(samplingNames, key) ? samplingNames[key] : undefined
    if (ours === undefined) dropped.push(`${at}: a step's sampling has no such setting`)
    else if (typeof value === 'number') sampling[ours] = value
    else problem(at, 'must be a number')
  }
  models[global] = {
    backend: 'openai',
    model,
    instances: [`\${${variable}:-https://api.openai.com}`],
    api_key_env: 'OPENAI_API_KEY',
  }
  notes.push(
    `${model} is asked at api.openai.com with OPENAI_API_KEY; ${variable} names another OpenAI-compatible server`,
  )
  steps.push({
    name: place.name,
    function: name,
    options,
    model: global,
    ...(Object.keys(sampling).length > 0 && { sampling }),
  })
}

const messagesOf = (input: Grader<'score_model'>['input']) =>
  input.map(({ role, content }) => ({ role, content: textOf(content) }))

/** Trainers' column names, which have other meanings in a result. */
const taken = ['reward', 'uid', 'data_source', 'raw_prompt']

/** A unique name that is valid in an expression. */
function stepName(name: string, others: readonly string[]): string {
  const plain = name
    .replace(/\W+/g, '_')
    .replace(/^(?![A-Za-z])/, 'grader_')
    .slice(0, 56)
  const legal = reservedNames.has(plain) || taken.includes(plain) ? `${plain}_score` : plain
  for (let count = 1; ; count++) {
    const free = count === 1 ? legal : `${legal}_${count}`
    if (!others.includes(free)) return free
  }
}

const named = { name: z.string().optional() }
const content = z.union([
  z.string(),
  z.object({ type: z.string().optional(), text: z.string() }),
  z.array(z.object({ type: z.string().optional(), text: z.string() })),
])
const messages = z.array(z.object({ role: z.string(), content, type: z.string().optional() })).min(1)
const sampling = z.record(z.string(), z.unknown()).nullish()

/** The graders of OpenAI's API except `multi`, which contains others. */
export const graderShapes = {
  string_check: z.strictObject({
    type: z.literal('string_check'),
    ...named,
    input: z.string(),
    reference: z.string(),
    operation: z.enum(['eq', 'ne', 'like', 'ilike']),
  }),
  text_similarity: z.strictObject({
    type: z.literal('text_similarity'),
    ...named,
    input: z.string(),
    reference: z.string(),
    evaluation_metric: z.string(),
    pass_threshold: z.number().optional(),
  }),
  score_model: z.strictObject({
    type: z.literal('score_model'),
    ...named,
    model: z.string().min(1),
    input: messages,
    range: z.tuple([z.number(), z.number()]).nullish(),
    sampling_params: sampling,
    pass_threshold: z.number().optional(),
  }),
  label_model: z.strictObject({
    type: z.literal('label_model'),
    ...named,
    model: z.string().min(1),
    input: messages,
    labels: z.array(z.string().min(1)).min(2),
    passing_labels: z.array(z.string()).min(1),
    sampling_params: sampling,
  }),
  python: z.strictObject({
    type: z.literal('python'),
    ...named,
    source: z.string().min(1),
    image_tag: z.string().nullish(),
    pass_threshold: z.number().optional(),
  }),
} as const

export type GraderType = keyof typeof graderShapes
type Grader<K extends GraderType> = z.output<(typeof graderShapes)[K]>

/** A `multi` grader. Its `graders` are parsed separately. */
export const multiShape = z.strictObject({
  type: z.literal('multi'),
  ...named,
  graders: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]),
  calculate_output: z.string().min(1),
})

/** A message's text. Its parts are joined. */
const textOf = (given: z.output<typeof content>): string =>
  typeof given === 'string'
    ? given
    : [given]
        .flat()
        .map(({ text }) => text)
        .join('')

/** A reward-function file: the grader's source, followed by an adapter that calls its `grade`. */
const pythonFile = (source: string): string => `${source.replace(/\s*$/, '')}


def compute_score(data_source, solution_str, ground_truth, extra_info):
    """Hands a row to the grader above in the form that OpenAI gives its graders."""
    import json

    text = solution_str.rsplit("</think>", 1)[-1].strip()
    try:
        output_json = json.loads(text)
    except ValueError:
        output_json = None
    sample = {
        "output_text": text,
        "output_json": output_json,
        "output_tools": [],
        "choices": [{"message": {"role": "assistant", "content": text}}],
    }
    item = {"ground_truth": ground_truth, **(extra_info or {})}
    return float(grade(sample, item))
`
