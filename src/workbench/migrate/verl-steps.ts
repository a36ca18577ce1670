import { didYouMean } from '../../core/nearest-name.ts'
import type { Tree } from './expand-config.ts'
import { addressVariable } from './model-name.ts'
import type { Section } from './verl-settings.ts'

/** A step of an rm-config, with the models that it names and what to say of it. */
export interface VerlStep {
  readonly step: { readonly name: string; readonly [key: string]: unknown }
  readonly models: Readonly<Record<string, object>>
  /** Environment variables that want an address, and of what. */
  readonly addresses: readonly (readonly [variable: string, path: string])[]
  readonly note?: string
  /** The column of the training data that holds this step's judge prompt. */
  readonly prompt?: string
}

interface Surroundings {
  /** Place in the lists, from 0. */
  readonly index: number
  readonly type: 'grm' | 'scalar' | 'cloud'
  readonly published: boolean
  modelName(path: string): string
  problem(key: string, message: string): void
}

/** Plug-ins of the original whose hooks are shipped. */
const plugIns: Readonly<Record<string, { readonly name: string; readonly function: string }>> = {
  rider_reward: { name: 'quality', function: 'rider-judge' },
  consistency_reward: { name: 'consistency', function: 'consistency-judge' },
  test_reward: { name: 'judge', function: 'yes-no-judge' },
}

/** The steps of one reward model: one, or a critique and the scalar model that reads it. */
export function rewardSteps(part: Section, around: Surroundings): VerlStep[] {
  const { index, type, problem } = around
  const { path } = sectionIn(part, 'model')
  const { weight, op } = combination(part, problem)
  const sampling = samplingIn(sectionIn(part, 'reward_vllm_rollout'), problem)
  const plugIn = type === 'grm' ? part.reward_function : ''
  if (typeof plugIn !== 'string' || (type === 'grm' && plugIn === '')) {
    problem('reward_function', 'must name the function of each reward model')
    return []
  }
  if (typeof path !== 'string' || path === '') {
    problem('model.path', 'must name each reward model')
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

/** The similarity of the reply to the wanted one, which the original asks of a service of its own. */
export function embedderStep(weight: number, published: boolean): VerlStep {
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

/** An address from the environment; the default is where vLLM listens by itself. */
const addressOf = (variable: string): string => `\${${variable}:-http://127.0.0.1:8000}`

function combination(part: Section, problem: Surroundings['problem']) {
  const { reward_weight: weight = 1, reward_combine_func: op = 'add' } = part
  if (typeof weight !== 'number') problem('reward_weight', `${String(weight)} is no number`)
  if (op !== 'add' && op !== 'mul')
    problem(
      'reward_combine_func',
      `'${String(op)}' is neither 'add' nor 'mul'; the original ignores such a model`,
    )
  return { weight, op }
}

function samplingIn(rollout: Section, problem: Surroundings['problem']): Record<string, number> {
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
