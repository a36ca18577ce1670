import { stringify } from 'yaml'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { expandConfig, listsIn } from './expand-config.ts'
import type { Imported } from './imported.ts'
import { modelNames } from './model-name.ts'
import { carriedKeys, droppedKeys } from './verl-keys.ts'
import { readVerlSettings, type Section } from './verl-settings.ts'
import { embedderStep, rewardSteps, type VerlStep } from './verl-steps.ts'

/** What the settings do not say. */
interface VerlOptions {
  /** Of the file, without its ending. */
  readonly name: string
  /** The rule beside the models; the original's rider rule by default. */
  readonly rule?: string
  /** True: as the original computes, its faults included. */
  readonly published?: boolean
}

/**
 * `reward_model.*` settings of a trainer that puts judges beside a rule, as an rm-config. `file` names the text in
 * problems. Throws RG_INPUT_INVALID with every mistake.
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
  if (steps.length === 0 && problems.length === 0) problem('', 'names no reward model')
  if (problems.length > 0)
    throw new GatewayError('RG_INPUT_INVALID', `${file}: the settings are not in order`, { problems })
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
    problem('', `its lists must be of one length, one entry a reward model: ${lists.join(', ')}`)
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

/** Each step its own name: a second `quality` is `quality_2`, and none is the rule's. */
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
    ...(section.enable === false ? ['enable was false: the run did not ask these models'] : []),
    rule === null
      ? 'combine_reward was false: no rule stands beside the models, and no gate before them'
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
