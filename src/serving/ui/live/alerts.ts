import type { PoolStatus, Served, ShownRun } from '../../http/inspector/messages.ts'
import { clockTime, count, counted, figure, percent } from '../format.ts'
import type { View } from '../route.ts'

/** Something that needs attention. */
interface Alert {
  readonly level: 'bad' | 'warn'
  readonly title: string
  readonly detail: string
  readonly todo: string
  /** The model or run concerned. */
  readonly subject: string
  /** Where the page shows more. */
  readonly view: View
  readonly chosen?: string
}

/** Tells an alert from others, for as long as it lasts. */
export const keyOf = ({ title, subject }: Alert): string => `${title.replace(/:.*/s, '')}\n${subject}`

/** Everything that is wrong now, most severe first. `served` tells judges from rules. */
export function alertsOf(
  { missing, suspects, models, sandboxes, runs }: PoolStatus,
  served: Served | null,
): readonly Alert[] {
  const pools = [...models, ...sandboxes]
  const all: Alert[] = [
    ...missing.map(
      (text): Alert => ({
        level: 'bad',
        title: text.startsWith('sandbox') ? 'A sandbox is unavailable' : 'A model is unavailable',
        detail: missingDetail(text, pools),
        todo: advice.missing,
        subject: text.match(/'(.*)'/)?.[1] ?? '',
        view: 'pools',
      }),
    ),
    ...suspects.map(
      ({ model, instance }): Alert => ({
        level: 'bad',
        title: 'An instance fails its canaries',
        detail: `${instance} gets no questions until it passes its canaries again.`,
        todo: advice.suspect,
        subject: model,
        view: 'pools',
      }),
    ),
    ...sandboxes.flatMap(({ name, is_confined: isConfined, confinement }): Alert[] =>
      isConfined
        ? []
        : [
            {
              level: 'warn',
              title: 'Programs are not confined',
              detail: `${confinement}.`,
              todo: advice.unconfined,
              subject: name,
              view: 'pools',
            },
          ],
    ),
    ...pools
      .filter(({ name }) => !missing.some((text) => text.includes(`'${name}'`)))
      .flatMap((pool) => [...away(pool, 'ejected'), ...away(pool, 'other-model')]),
    ...runs.flatMap((run) => ofRun(run, served)),
  ]
  return all.sort((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn'))
}

type Pool = PoolStatus['models'][number] | PoolStatus['sandboxes'][number]

/** The instances of a pool in a state in which they get no questions. */
function away({ name, instances }: Pool, state: 'ejected' | 'other-model'): Alert[] {
  const found = instances.filter((one) => one.state === state).map(({ address }) => address)
  if (found.length === 0) return []
  const isEjected = state === 'ejected'
  return [
    {
      level: 'warn',
      title: `${isEjected ? 'Ejected' : 'Serving another model'}: ${counted(found.length, 'instance')} of ${instances.length}`,
      detail: `${found.slice(0, 8).join(', ')}${found.length > 8 ? ' and others' : ''}: no questions until it answers again.`,
      todo: isEjected ? advice.ejected : advice.otherModel,
      subject: name,
      view: 'pools',
    },
  ]
}

function missingDetail(
  text: string,
  models: readonly Pick<PoolStatus['models'][number], 'name' | 'parked' | 'parked_since'>[],
): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  const model = models.find(({ name }) => text.includes(`'${name}'`))
  if (model && model.parked > 0) return `${whole}; ${parkedText(model)}.`
  return `${whole}; samples that need it wait or are invalid.`
}

/** How many questions wait for an unavailable model, and since when. */
export const parkedText = ({
  parked,
  parked_since: since,
}: Pick<PoolStatus['models'][number], 'parked' | 'parked_since'>): string =>
  `${counted(parked, 'question')} parked since ${since === null ? 'now' : clockTime(Date.parse(since))}`

function ofRun(run: ShownRun, served: Served | null): readonly Alert[] {
  const subject = nameOf(run)
  const figures = Object.entries(run.figures)
    .filter(([, { standing }]) => standing === 'low' || standing === 'high')
    .map(
      ([name, { value, standing, low, high, help }]): Alert => ({
        level: 'warn',
        title: `${wordsOf(name)}: ${shownFigure(name, value)}, ${standing === 'low' ? `below ${shownFigure(name, low)}` : `above ${shownFigure(name, high)}`}`,
        detail: `${name === 'constant_judges_ratio' ? constantJudges(run, served) : ''}${help}`,
        todo: figureAdvice[name] ?? '',
        subject,
        view: name.includes('group') || name.includes('length') ? 'groups' : 'samples',
        ...((name.includes('group') || name.includes('length')) && { chosen: subject }),
      }),
    )
  const alarms = run.alarms.map(
    ({ figure, step, direction, training_step }): Alert => ({
      level: 'bad',
      title:
        figure === 'drift'
          ? `Drift ${direction} at training step ${training_step}`
          : `The reward rises without accuracy at training step ${training_step}`,
      detail:
        figure === 'drift'
          ? `The mean of ${step === null ? 'the reward' : `step '${step}'`} left its past range.`
          : 'The policy may have found what the judges like.',
      todo: figure === 'drift' ? advice.drift : advice.hacking,
      subject,
      view: 'samples',
    }),
  )
  return [...alarms, ...figures]
}

/** Which judges are constant, and with what: `'careful' gave 1 to all of 512 answers. `. */
function constantJudges({ reward, terms }: ShownRun, served: Served | null): string {
  const steps = served?.rewards.find(({ name }) => name === reward)?.steps
  return Object.entries(terms)
    .filter(([name, { constant }]) => {
      const step = steps?.find((one) => one.name === name)
      return constant && (step === undefined || step.models.length > 0)
    })
    .map(([name, { mean, scored }]) => `'${name}' gave ${figure(mean)} to all of ${count(scored)} answers. `)
    .join('')
}

/** A value of a figure with its unit: shares in percent. */
export const shownFigure = (name: string, value: number | null): string =>
  name.endsWith('_ratio')
    ? percent(value)
    : name.endsWith('_bits') && value !== null
      ? `${figure(value)} ${value === 1 ? 'bit' : 'bits'}`
      : figure(value)

/** The bounds of a figure in words; '' if it has none. */
export function boundsOf(name: string, low: number | null, high: number | null): string {
  if (low === null) return high === null ? '' : `at most ${shownFigure(name, high)}`
  return high === null
    ? `at least ${shownFigure(name, low)}`
    : `${shownFigure(name, low)} to ${shownFigure(name, high)}`
}

/** A reward and its run, as one label. */
export const nameOf = ({ reward, run }: Pick<ShownRun, 'reward' | 'run'>): string =>
  run === '' ? reward : `${reward} · ${run}`

/** The name of a figure as a label. */
export function wordsOf(name: string): string {
  const words = name.replace(/_(ratio|bits)$/, '').replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What to do about a figure of the monitors that is out of bounds; docs/monitoring.md says more. */
export const figureAdvice: Readonly<Record<string, string>> = {
  invalid_ratio: 'Filter Samples by "Without a reward" and look at what each kind of failure says.',
  reward_mean:
    'Too low: begin with supervised data, or take easier prompts. Too high: take harder prompts. Useful is 0.1 to 0.8.',
  saturated_groups_ratio: 'Take other prompts, more answers to a prompt, or a finer reward.',
  group_variance: 'The prompts are too easy or too hard for this model: take others.',
  group_entropy_bits: 'Raise the sampling temperature, and look at KL and at the prompts.',
  length_correlation:
    'Read long and short answers of one group. Add overlong-penalty, or tell the judges to ignore length.',
  duplicate_answers_ratio:
    'Read some answers. Raise the sampling temperature; if it is high enough, the policy has collapsed: go back to an earlier checkpoint, and add repetition-penalty.',
  repetition_ratio: 'Read some answers, and add repetition-penalty.',
  rule_judge_disagreement_ratio:
    'Open samples where they differ: the rule or the judge is wrong, or is being fooled.',
  judge_disagreement_ratio: 'Make the template clearer, take a better judge, or draw more votes.',
  constant_judges_ratio:
    'Open a sample and read what the judge is asked and what it answers; then ask its server by hand.',
}

/** The same for other alerts. */
const advice = {
  missing:
    "Look at the servers, and at the log of the gateway for the reason. 'reward-gateway check --connect CONFIG' asks them once.",
  suspect:
    'It answers known questions wrongly: look at its chat template, its weights and its quantisation. It comes back after a round in which everything is right.',
  ejected: 'Look at the server. It comes back by itself once it answers.',
  otherModel: 'The server was started with another model: correct it, or the address in gateway.yaml.',
  unconfined:
    "Programs may do what the gateway's user may. Take isolation: unconfined out of gateway.yaml, or name the address of a 'reward-gateway sandbox' on another machine under sandboxes.",
  drift:
    'Was a judge started again with other weights or another template? Compare samples of before and after that step.',
  hacking: 'Stop the run, read the best paid answers, and attack the reward with reward-gateway audit.',
} as const
