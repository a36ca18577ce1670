import { stringify } from 'yaml'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { addressVariable, type Imported, modelNames } from './imported.ts'
import { expandConfig, listsIn, readVerlSettings, type Section, type Tree } from './verl-settings.ts'

interface VerlOptions {
  /** The file's name without its ending. */
  readonly name: string
  /** The rule beside the models. Default: rider-rule. */
  readonly rule?: string
  /** Reproduces the original's results, including its bugs. */
  readonly published?: boolean
}

/**
 * Converts `reward_model.*` settings, which combine judges with a rule, to an rm-config. Problems start with
 * `file`. Throws RG_INPUT_INVALID with every mistake.
 */
export function importVerlConfig(file: string, text: string, options: VerlOptions): Imported {
  const section = readVerlSettings(file, text)
  const problems: Problem[] = []
  const problem = (key: string, message: string) =>
    problems.push({ path: `${file}: reward_model${key === '' ? '' : `.${key}`}`, message })
  const parts = expanded(section, problem)
  const type = typeIn(section, problem)
  const published = options.published ?? false
  const hasRule = flagIn(section, 'combine_reward', problem) ?? true
  const name = modelNames(['embedder'])
  const steps = parts.flatMap((part, index) =>
    rewardSteps(part, { index, type, published, modelName: name, problem }),
  )
  if (flagIn(section, 'use_bge', problem)) {
    const weight = section.bge_weight ?? 0.5
    if (typeof weight !== 'number') problem('bge_weight', 'must be a number')
    else steps.unshift(embedderStep(weight, published))
  }
  if (steps.length === 0 && problems.length === 0) problem('', 'has no reward model')
  if (problems.length > 0)
    throw new GatewayError('RG_INPUT_INVALID', `${file}: the settings have mistakes`, { problems })
  const rule = options.rule ?? 'rider-rule'
  return {
    files: [
      { path: `${options.name}.yaml`, text: configText(named(steps), hasRule ? rule : null, published) },
    ],
    notes: notesOn(steps, section, hasRule ? rule : null),
    dropped: droppedKeys(section, carriedKeys),
  }
}

type Report = (key: string, message: string) => void

function expanded(section: Section, problem: Report): readonly Section[] {
  try {
    return expandConfig(section) as readonly Section[]
  } catch {
    const lists = listsIn(section).map(({ key, length }) => `${key} ${length}`)
    problem(
      '',
      `its lists must have the same length, with one entry for each reward model: ${lists.join(', ')}`,
    )
    return []
  }
}

function typeIn({ reward_model_type: type = 'grm' }: Section, problem: Report): 'grm' | 'scalar' | 'cloud' {
  const kinds = ['grm', 'scalar', 'cloud'] as const
  const found = kinds.find((one) => one === [type].flat()[0])
  if (!found) problem('reward_model_type', "must be 'grm', 'scalar' or 'cloud'")
  return found ?? 'grm'
}

function flagIn(section: Section, key: string, problem: Report): boolean | undefined {
  const flag = section[key]
  if (flag === undefined || flag === null || typeof flag === 'boolean') return flag ?? undefined
  problem(key, 'must be true or false')
  return undefined
}

/** Makes step names unique. A second `quality` becomes `quality_2`; `rule` is reserved for the rule. */
function named(steps: readonly VerlStep[]): readonly VerlStep[] {
  const count = new Map([['rule', 1]])
  return steps.map((one) => {
    const { name } = one.step
    const seen = (count.get(name) ?? 0) + 1
    count.set(name, seen)
    return seen === 1 ? one : { ...one, step: { ...one.step, name: `${name}_${seen}` } }
  })
}

function configText(steps: readonly VerlStep[], rule: string | null, published: boolean): string {
  const mode = published ? { options: { mode: 'published' } } : {}
  const config = {
    description: 'Imported from reward_model settings.',
    models: Object.fromEntries(steps.flatMap(({ models }) => Object.entries(models))),
    ...(rule !== null && { gate: 'rule == 1' }),
    on_unreadable: 'skip',
    ...(published && { arithmetic: 'published' }),
    steps: [
      ...(rule === null ? [] : [{ name: 'rule', function: rule, ...mode }]),
      ...steps.map(({ step }) => step),
    ],
  }
  return stringify(config, { lineWidth: 110 })
}

function notesOn(steps: readonly VerlStep[], section: Section, rule: string | null): string[] {
  const addresses = new Map(steps.flatMap(({ addresses }) => addresses))
  return [
    ...(section.enable === false ? ['enable was false: the run did not use these models'] : []),
    rule === null
      ? 'combine_reward was false: the models have no rule beside them and no gate'
      : `the rule is ${rule}, which the settings do not name: --rule NAME takes another`,
    "a judge's text without a verdict leaves the row its rule score (on_unreadable: skip)",
    ...[...addresses].map(([name, path]) => `set ${name} to the address of a server of ${path}`),
    ...named(steps).flatMap(({ step, note, prompt }) => [
      ...(note ? [`step ${step.name}: ${note}`] : []),
      ...(prompt
        ? [`column ${prompt} is the judge prompt of step ${step.name} (rm_prompts.${step.name})`]
        : []),
    ]),
  ]
}

/** Keys of `reward_model` that have a counterpart in an rm-config. */
const carriedKeys: ReadonlySet<string> = new Set([
  'enable',
  'combine_reward',
  'reward_model_type',
  'reward_function',
  'reward_weight',
  'reward_combine_func',
  'use_bge',
  'bge_weight',
  'model.path',
  'reward_vllm_rollout.temperature',
  'reward_vllm_rollout.top_p',
  'reward_vllm_rollout.top_k',
  'reward_vllm_rollout.rollout_response_length',
])

const reasons: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/tokenizer/, 'the gateway reads texts, not tokens'],
  [
    /gpu_memory|tensor_model_parallel|parallel|free_cache|offload|dtype|enforce_eager|load_format|swap/,
    "the model server's own setting",
  ],
  [
    /micro_batch|batch_size|max_length|forward|fsdp|param|strategy|ulysses|padding/,
    "the trainer's own engine is not used",
  ],
  [/timeout|num_workers|concurren|max_num/, 'see timeout_s, max_in_flight and batch in docs/models.md'],
]

/** Lists all other settings as `reward_model.<key>: reason`. */
function droppedKeys(section: Section, carried: ReadonlySet<string>): readonly string[] {
  return leaves(section)
    .filter((key) => !carried.has(key))
    .map((key) => {
      const why = reasons.find(([pattern]) => pattern.test(key))?.[1] ?? 'an rm-config has no such setting'
      return `reward_model.${key}: ${why}`
    })
}

function leaves(section: Section, above = ''): readonly string[] {
  return Object.entries(section).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? leaves(value as Section, `${above}${key}.`)
      : [`${above}${key}`],
  )
}

/** A step of an rm-config, its models, and notes about them. */
interface VerlStep {
  readonly step: { readonly name: string; readonly [key: string]: unknown }
  readonly models: Readonly<Record<string, object>>
  /** Environment variables for addresses, with the models' paths. */
  readonly addresses: readonly (readonly [variable: string, path: string])[]
  readonly note?: string
  /** The training data column with this step's judge prompt. */
  readonly prompt?: string
}

interface Surroundings {
  /** The index in the section's lists. */
  readonly index: number
  readonly type: 'grm' | 'scalar' | 'cloud'
  readonly published: boolean
  modelName(path: string): string
  problem(key: string, message: string): void
}

/** Plug-ins of the original that are shipped as reward functions. */
const plugIns: Readonly<Record<string, { readonly name: string; readonly function: string }>> = {
  rider_reward: { name: 'quality', function: 'rider-judge' },
  consistency_reward: { name: 'consistency', function: 'consistency-judge' },
  test_reward: { name: 'judge', function: 'yes-no-judge' },
}

/** The step of one reward model, or a critique step and the scalar step that reads it. */
function rewardSteps(part: Section, around: Surroundings): VerlStep[] {
  const { index, type, problem } = around
  const { path } = sectionIn(part, 'model')
  const { weight, op } = combination(part, problem)
  const sampling = samplingOf(sectionIn(part, 'reward_vllm_rollout'), problem)
  const plugIn = type === 'grm' ? part.reward_function : ''
  if (typeof plugIn !== 'string' || (type === 'grm' && plugIn === '')) {
    problem('reward_function', 'must be the function of each reward model')
    return []
  }
  if (typeof path !== 'string' || path === '') {
    problem('model.path', 'must be the path of each reward model')
    return []
  }
  const name = around.modelName(path)
  const variable = addressVariable(name)
  const shared = {
    models: { [name]: { model: path, instances: [addressOf(variable)] } },
    addresses: [[variable, path] as const],
  }
  const folded = { ...(op === 'mul' && { op }), weight }
  const asked = { model: name, ...(Object.keys(sampling).length > 0 && { sampling }) }
  if (type !== 'grm') {
    const scalar = { name: 'scalar', function: 'scalar-score', model: name, ...folded }
    if (type === 'scalar') return [{ ...shared, step: scalar }]
    const critique = index === 0 ? 'critique' : `critique_${index + 1}`
    return [
      { ...shared, step: { name: critique, function: 'critique', ...asked } },
      { ...shared, step: { ...scalar, after: critique } },
    ]
  }
  const known = Object.hasOwn(plugIns, plugIn) ? plugIns[plugIn] : undefined
  const mode = around.published && known ? { options: { mode: 'published' } } : {}
  const near = didYouMean(plugIn, Object.keys(plugIns))
  return [
    {
      ...shared,
      step: {
        name: known?.name ?? stepName(plugIn),
        function: known?.function ?? plugIn,
        ...mode,
        ...asked,
        ...folded,
      },
      ...(!known && {
        note: `${plugIn} is a plug-in of your own${near}: lay ${plugIn}.py with rm_preprocess and rm_postprocess into a folder given by --reward-functions`,
      }),
      prompt: `rm_prompt_${index}`,
    },
  ]
}

/** The similarity of the reply to the expected one. The original asks a separate service for it. */
function embedderStep(weight: number, published: boolean): VerlStep {
  return {
    step: {
      name: 'similarity',
      function: 'rider-bge',
      ...(published && { options: { mode: 'published' } }),
      model: 'embedder',
      weight,
    },
    models: {
      embedder: { model: 'BAAI/bge-large-zh-v1.5', instances: [addressOf('EMBEDDER_URL')] },
    },
    addresses: [['EMBEDDER_URL', 'BAAI/bge-large-zh-v1.5']],
  }
}

/** An address from the environment. The default is vLLM's own. */
const addressOf = (variable: string): string => `\${${variable}:-http://127.0.0.1:8000}`

function combination(part: Section, problem: Surroundings['problem']) {
  const { reward_weight: weight = 1, reward_combine_func: op = 'add' } = part
  if (typeof weight !== 'number') problem('reward_weight', `${String(weight)} is not a number`)
  if (op !== 'add' && op !== 'mul')
    problem(
      'reward_combine_func',
      `'${String(op)}' is neither 'add' nor 'mul'; the original ignores such a model`,
    )
  return { weight, op }
}

function samplingOf(rollout: Section, problem: Surroundings['problem']): Record<string, number> {
  const names = {
    temperature: 'temperature',
    top_p: 'top_p',
    top_k: 'top_k',
    rollout_response_length: 'max_tokens',
  }
  const entries = Object.entries(names).flatMap(([theirs, ours]) => {
    const value: Tree | undefined = rollout[theirs]
    if (value === undefined || value === null) return []
    if (typeof value === 'number') return [[ours, value] as const]
    problem(`reward_vllm_rollout.${theirs}`, 'must be a number')
    return []
  })
  return Object.fromEntries(entries)
}

function sectionIn(part: Section, key: string): Section {
  const value = part[key]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Section) : {}
}

const stepName = (plugIn: string): string =>
  plugIn.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?![A-Za-z])/, 'step_')
