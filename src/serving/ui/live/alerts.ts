import type { PoolStatus, ShownRun } from '../../http/inspector/messages.ts'
import { figure as written } from '../format.ts'

/** Something that needs attention. */
interface Alert {
  readonly level: 'bad' | 'warn'
  readonly title: string
  readonly detail: string
  /** The model or run concerned. */
  readonly subject: string
}

/** Everything that is wrong now, most severe first. */
export function alertsOf({ missing, suspects, models, sandboxes, runs }: PoolStatus): readonly Alert[] {
  const all: Alert[] = [
    ...missing.map(
      (text): Alert => ({
        level: 'bad',
        title: text.startsWith('sandbox') ? 'A sandbox is unavailable' : 'A model is unavailable',
        detail: missingDetail(text, [...models, ...sandboxes]),
        subject: text.match(/'(.*)'/)?.[1] ?? '',
      }),
    ),
    ...suspects.map(
      ({ model, instance }): Alert => ({
        level: 'bad',
        title: 'An instance fails its canaries',
        detail: `${instance} gets no questions until it passes its canaries again.`,
        subject: model,
      }),
    ),
    ...sandboxes.flatMap(({ name, is_confined: isConfined, confinement }): Alert[] =>
      isConfined
        ? []
        : [{ level: 'warn', title: 'Programs are not confined', detail: `${confinement}.`, subject: name }],
    ),
    ...[...models, ...sandboxes].flatMap(({ name, instances }) =>
      instances
        .filter(({ state }) => state === 'ejected' || state === 'other-model')
        .map(
          ({ address, state }): Alert => ({
            level: 'warn',
            title: state === 'ejected' ? 'An instance is ejected' : 'An instance serves another model',
            detail: `${address} gets no questions until it answers again.`,
            subject: name,
          }),
        ),
    ),
    ...runs.flatMap(ofRun),
  ]
  return all.sort((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn'))
}

function missingDetail(
  text: string,
  models: readonly Pick<PoolStatus['models'][number], 'name' | 'parked' | 'parked_since'>[],
): string {
  const model = models.find(({ name }) => text.includes(`'${name}'`))
  if (model && model.parked > 0) return `${text}; ${parkedText(model)}.`
  return `${text}; samples that need it wait or are invalid.`
}

/** How many questions wait for an unavailable model, and since when. */
export const parkedText = ({
  parked,
  parked_since: since,
}: Pick<PoolStatus['models'][number], 'parked' | 'parked_since'>): string =>
  `${parked} parked since ${since === null ? 'now' : new Date(since).toLocaleTimeString()}`

function ofRun(run: ShownRun): readonly Alert[] {
  const subject = nameOf(run)
  const figures = Object.entries(run.figures)
    .filter(([, { standing }]) => standing === 'low' || standing === 'high')
    .map(
      ([name, { value, standing, low, high, help }]): Alert => ({
        level: 'warn',
        title: `${wordsOf(name)} is ${standing === 'low' ? 'below' : 'above'} ${standing === 'low' ? low : high}`,
        detail: `${help} The value over the last training steps is ${written(value)}.`,
        subject,
      }),
    )
  const alarms = run.alarms.map(
    ({ figure, step, direction, training_step }): Alert => ({
      level: 'bad',
      title: figure === 'drift' ? `Drift ${direction}` : 'The reward rises without accuracy',
      detail:
        figure === 'drift'
          ? `The mean of ${step === null ? 'the reward' : `step '${step}'`} left its past range at training step ${training_step}.`
          : `Detected at training step ${training_step}. Read the answers with the highest rewards.`,
      subject,
    }),
  )
  return [...alarms, ...figures]
}

/** A reward and its run, as one label. */
export const nameOf = ({ reward, run }: Pick<ShownRun, 'reward' | 'run'>): string =>
  run === '' ? reward : `${reward} · ${run}`

/** The name of a figure as a label. */
export function wordsOf(name: string): string {
  const words = name
    .replace(/_ratio$/, '')
    .replace(/_bits$/, ', bits')
    .replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
