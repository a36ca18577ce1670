import type { StepReward } from '../../../core/sample/sample.ts'
import { arithmetics } from '../../../scoring/plan/fold.ts'
import type { ServedReward } from '../../http/inspector/messages.ts'
import type { RowDetail } from '../../telemetry/live/shown-row.ts'
import { duration, figure } from '../format.ts'
import { Conversation, turnsIn } from './conversation.tsx'
import { Scroll } from './table.tsx'
import { Tests } from './tests.tsx'
import { Kept, Text } from './text.tsx'

type Term = RowDetail['terms'][number]
type Ask = Term['asks'][number]

/** A term of a record or of a reply. */
export interface ShownStep {
  readonly name: string
  readonly op: 'add' | 'mul'
  readonly weight: number
  readonly status: 'scored' | 'text' | 'off' | 'failed'
  readonly score: number | null
  readonly draws: number
  readonly spread: number
  readonly parts: Readonly<Record<string, number>>
  readonly details: Readonly<Record<string, unknown>>
  readonly flags: readonly string[]
  /** Rewards of parts of the rollout. */
  readonly steps?: readonly StepReward[] | undefined
  readonly why: string | null
  readonly failure: { readonly kind: string; readonly detail: string } | null
  readonly asks: readonly Ask[]
  /** Of its program. */
  readonly tests?: Term['tests']
}

const reasons: Readonly<Record<string, string>> = {
  gate: 'the gate is closed',
  when: "its 'when' condition is false",
  data_source: 'it is meant for other data sources',
  not_applicable: 'the function reported that it does not apply',
  skipped: 'the answer has no verdict, and the config says to skip it',
}

/** The steps of a sample in order: the score, its contribution, and the running reward. */
export function Steps(props: {
  readonly steps: readonly ShownStep[]
  readonly config: Pick<ServedReward, 'gate' | 'formula' | 'arithmetic'>
}) {
  const { steps, config } = props
  const sums = foldOf(steps, config)
  return (
    <ol class="steps">
      {steps.map((step, at) => (
        <li class={`step ${step.status}`}>
          <div class="step-head">
            <h3>
              <Text of={step.name} />
            </h3>
            <span class={`chip ${step.status}`}>
              {step.status === 'scored' ? figure(step.score) : step.status}
            </span>
            <span class="sum">{sums[at]}</span>
          </div>
          {step.status === 'off' && (
            <p class="muted">
              Off: {reasons[step.why ?? ''] ?? 'it did not take part'}
              {step.why === 'gate' && config.gate !== null && (
                <>
                  {' '}
                  (<code>{config.gate}</code>)
                </>
              )}
              .
            </p>
          )}
          {step.status === 'text' && <p class="muted">Produces a text for later steps and has no score.</p>}
          {step.failure && (
            <p class="error">
              <code>{step.failure.kind}</code> <Text of={step.failure.detail} />
            </p>
          )}
          <Pairs of={step.parts} />
          <Pairs of={step.details} />
          {step.steps && step.steps.length > 0 && <PartRewards of={step.steps} />}
          {step.flags.length > 0 && <Flags of={step.flags} />}
          {step.tests && <Tests of={step.tests} />}
          {step.draws > 1 && (
            <p class="muted">
              {step.draws} votes, standard deviation {figure(step.spread)}
            </p>
          )}
          {step.asks.map((ask) => (
            <AskedOf ask={ask} />
          ))}
        </li>
      ))}
    </ol>
  )
}

/** The calculation of the running reward after each step. */
function foldOf(
  steps: readonly ShownStep[],
  { arithmetic, formula }: Pick<ServedReward, 'arithmetic' | 'formula'>,
): readonly string[] {
  if (formula !== null) return steps.map(() => '')
  const { started, combined } = arithmetics[arithmetic]
  let value: number | null = null
  return steps.map(({ op, weight, score, status, why }) => {
    const counted = arithmetic === 'published' && why === 'gate' ? 0 : status === 'scored' ? score : null
    if (counted === null) return ''
    const before: number | null = value
    value = before === null ? started(weight, counted) : combined[op](before, weight, counted)
    const amount = `${figure(weight)} × ${figure(counted)}`
    if (before === null) return `${amount} = ${figure(value)}`
    return `${figure(before)} ${op === 'add' ? '+' : '×'} ${amount} = ${figure(value)}`
  })
}

function Pairs({ of }: { readonly of: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(of)
  if (entries.length === 0) return null
  return (
    <dl class="pairs">
      {entries.map(([name, value]) => (
        <div>
          <dt>
            <Text of={name} />
          </dt>
          <dd>
            {typeof value === 'number' ? (
              figure(value)
            ) : typeof value === 'boolean' ? (
              String(value)
            ) : (
              <Short of={value} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Of a process reward: where each part ends, in code points of its turn's text, and what it earned. */
function PartRewards({ of }: { readonly of: readonly StepReward[] }) {
  return (
    <details class="asked">
      <summary>Rewards of {of.length} steps</summary>
      <dl class="pairs">
        {of.map(({ turn, end, value }) => (
          <div>
            <dt>
              turn {turn}, to {end}
            </dt>
            <dd>{figure(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function Short({ of }: { readonly of: unknown }) {
  if (typeof of === 'string' && of.length <= 200) return <Text of={of} />
  if (isTable(of)) return <Table rows={of} />
  return <Kept of={of} label="Detail" />
}

type Flat = Readonly<Record<string, string | number | boolean | null>>

/** Rows and columns of details that are shown as a table. */
const mostRows = 64
const mostColumns = 8
const longestCell = 200

/** Whether this is a list of objects that hold short values only, as the criteria of a rubric are. */
const isTable = (of: unknown): of is readonly Flat[] =>
  Array.isArray(of) &&
  of.length > 0 &&
  of.length <= mostRows &&
  of.every(
    (row) =>
      typeof row === 'object' &&
      row !== null &&
      !Array.isArray(row) &&
      Object.values(row).every((value) =>
        typeof value === 'string' ? value.length <= longestCell : typeof value !== 'object' || value === null,
      ),
  ) &&
  columnsOf(of).length <= mostColumns

const columnsOf = (rows: readonly Flat[]): readonly string[] => [
  ...new Set(rows.flatMap((row) => Object.keys(row))),
]

function Table({ rows }: { readonly rows: readonly Flat[] }) {
  const columns = columnsOf(rows)
  return (
    <Scroll label="Details">
      <table class="details">
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col">
                <Text of={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map((name) => {
                const value = row[name]
                return (
                  <td>{typeof value === 'number' ? figure(value) : <Text of={String(value ?? '–')} />}</td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

/** Flags that functions and the guard have set. */
export function Flags({ of }: { readonly of: readonly string[] }) {
  return (
    <p class="flags">
      {of.map((flag) => (
        <span class="chip flag">
          <Text of={flag} />
        </span>
      ))}
    </p>
  )
}

function AskedOf({ ask }: { readonly ask: Ask }) {
  const { model, instance, source, ms, tokens, verdict, failure, answer, question } = ask
  const cost = tokens ? `${tokens.prompt} tokens in, ${tokens.completion} out` : ''
  return (
    <details class="asked">
      <summary>
        <b>{model}</b>
        <span class="muted">
          {source === 'cache'
            ? 'from the cache'
            : source === 'joined'
              ? 'shared with an identical question'
              : duration(ms)}
        </span>
        <span class={`chip ${failure ? 'failed' : 'scored'}`}>
          {failure ? failure.kind : verdict === null ? 'no verdict' : figure(verdict)}
        </span>
      </summary>
      <p class="muted">{[instance, cost, duration(ms)].filter((text) => text).join(' · ')}</p>
      {failure && <p class="error">{failure.detail}</p>}
      <h4>Question</h4>
      <Question of={question} />
      <h4>Answer</h4>
      <Kept of={answer} label="Answer" />
    </details>
  )
}

/** A conversation, turn by turn, or a text. */
export function Question({ of, label = 'Question' }: { readonly of: unknown; readonly label?: string }) {
  const turns = typeof of === 'string' ? turnsIn(of) : null
  return turns ? <Conversation turns={turns} label={label} /> : <Kept of={of} label={label} />
}
