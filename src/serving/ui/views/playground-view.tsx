import { useState } from 'preact/hooks'
import type { NativeResult } from '../../../trainers/native-result.ts'
import type { ServedReward } from '../../http/inspector/messages.ts'
import type { RowDetail, ShownAsk } from '../../telemetry/live/shown-row.ts'
import { duration, figure } from '../format.ts'
import { post, Refused } from '../live/session.ts'
import { useLive } from '../live/store.ts'
import { Flags, type ShownStep, Steps } from '../parts/steps.tsx'
import { Text } from '../parts/text.tsx'

type Result = NativeResult & { readonly asks: Readonly<Record<string, readonly ShownAsk[]>> }

interface Run {
  readonly result: Result
  readonly reward: ServedReward
  readonly ms: number
}

/** Scores one sample entered by hand and shows each step. */
export function PlaygroundView() {
  const { served } = useLive()
  const rewards = served?.rewards ?? []
  const [, draw] = useState(0)
  const [run, show] = useState<Run | null>(null)
  const [trouble, say] = useState('')
  const [isBusy, busy] = useState(false)
  const set = (part: Partial<typeof draft>) => {
    Object.assign(draft, part)
    draw((times) => times + 1)
  }
  const chosen =
    rewards.find(({ name }) => name === draft.reward) ??
    rewards.find(({ name }) => name === 'demo') ??
    rewards[0]
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!chosen || isBusy) return
    busy(true)
    say('')
    const began = performance.now()
    try {
      const body = { reward: chosen.name, samples: [sampleOf(draft)], explain: true }
      const { results } = await post<{ results: readonly Result[] }>('../v1/score', body)
      const [result] = results
      if (result) show({ result, reward: chosen, ms: performance.now() - began })
    } catch (error) {
      show(null)
      say(error instanceof SyntaxError ? 'extra_info is not valid JSON.' : wordsOf(error))
    } finally {
      busy(false)
    }
  }
  return (
    <>
      <div class="view-head">
        <h1>Playground</h1>
        <button type="button" class="quiet" onClick={() => set(example)}>
          Insert example
        </button>
      </div>
      <div class="playground">
        <form class="panel" onSubmit={submit}>
          <label>
            <span>Reward</span>
            <select value={chosen?.name} onChange={(event) => set({ reward: event.currentTarget.value })}>
              {rewards.map(({ name }) => (
                <option value={name}>{name}</option>
              ))}
            </select>
          </label>
          {chosen?.description && <p class="muted">{chosen.description}</p>}
          <Area
            label="Prompt"
            rows={4}
            value={draft.prompt}
            write={(prompt) => set({ prompt })}
            submit={submit}
          />
          <Area
            label="Response"
            rows={8}
            value={draft.response}
            write={(response) => set({ response })}
            submit={submit}
          />
          <Area
            label="Ground truth"
            rows={2}
            value={draft.truth}
            write={(truth) => set({ truth })}
            submit={submit}
          />
          <details>
            <summary>Data source and extra_info</summary>
            <label>
              <span>Data source</span>
              <input
                value={draft.dataSource}
                onInput={(event) => set({ dataSource: event.currentTarget.value })}
              />
            </label>
            <Area
              label="extra_info (JSON)"
              rows={3}
              value={draft.extra}
              write={(extra) => set({ extra })}
              submit={submit}
            />
          </details>
          <div class="actions">
            <button type="submit" class="primary" disabled={isBusy}>
              {isBusy ? 'Scoring…' : 'Score'}
            </button>
            <span class="muted">Ctrl + Enter</span>
          </div>
        </form>
        <section class="panel result" aria-label="Result" aria-live="polite">
          <h2 class="hidden">Result</h2>
          {trouble !== '' && <p class="error">{trouble}</p>}
          {run ? (
            <Shown run={run} />
          ) : (
            trouble === '' && (
              <p class="empty">The result appears here, with each step, its judges and their answers.</p>
            )
          )}
        </section>
      </div>
    </>
  )
}

function Area(props: {
  readonly label: string
  readonly rows: number
  readonly value: string
  readonly write: (value: string) => void
  readonly submit: (event: Event) => void
}) {
  const { label, rows, value, write, submit } = props
  return (
    <label>
      <span>{label}</span>
      <textarea
        rows={rows}
        value={value}
        spellcheck={false}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
        }}
      />
    </label>
  )
}

function Shown({ run: { result, reward, ms } }: { readonly run: Run }) {
  const steps = reward.steps.flatMap(({ name, op }): ShownStep[] => {
    const term = result.terms[name]
    return term ? [{ name, op, ...term, steps: result.steps?.[name], asks: result.asks[name] ?? [] }] : []
  })
  return (
    <>
      <p class={result.valid ? 'outcome' : 'outcome bad-text'}>
        <b>{result.valid ? figure(result.reward) : result.failure?.kind}</b>
        <span class="muted">
          {reward.name} · {duration(ms)}
        </span>
      </p>
      {result.failure && (
        <p class="error">
          <Text of={result.failure.detail} />
        </p>
      )}
      {result.flags.length > 0 && <Flags of={result.flags} />}
      {reward.formula !== null && (
        <p class="muted">
          Reward: <code>{reward.formula}</code>
        </p>
      )}
      <Steps steps={steps} config={reward} />
    </>
  )
}

function wordsOf(error: unknown): string {
  if (error instanceof Refused && (error.status === 401 || error.status === 403))
    return `${error.message}. Use the button 'Key' to enter a key with the scope 'score'.`
  return error instanceof Refused ? error.message : 'The gateway is not responding.'
}

/** The contents of the form; they survive a change of view. */
interface Draft {
  reward: string
  prompt: string
  response: string
  truth: string
  dataSource: string
  extra: string
}

/** Changed in place. */
const draft: Draft = { reward: '', prompt: '', response: '', truth: '', dataSource: '', extra: '' }

/** A word problem with a correct answer. */
const example: Omit<Draft, 'reward'> = {
  prompt: 'A baker makes 4 trays of 12 rolls and sells 9 rolls before noon. How many rolls are left?',
  response: 'The baker makes 4 * 12 = 48 rolls.\nAfter the morning 48 - 9 = 39 are left.\n#### 39',
  truth: '39',
  dataSource: '',
  extra: '',
}

/** Copies a scored sample into the form. */
export function loadDraft({ sample, config }: RowDetail): void {
  const { ground_truth: truth } = sample
  Object.assign(draft, {
    reward: config.reward,
    prompt: String(sample.prompt),
    response: sample.turns ? JSON.stringify(sample.turns, null, 1) : String(sample.response),
    truth: typeof truth === 'string' ? truth : truth === null ? '' : JSON.stringify(truth),
    dataSource: sample.data_source ?? '',
    extra: '',
  })
}

/** The sample of a draft. Throws SyntaxError if extra_info is not valid JSON. */
function sampleOf({ prompt, response, truth, dataSource, extra }: Draft): object {
  return {
    prompt: conversationOf(prompt),
    response: rolloutStart.test(response) ? conversationOf(response) : response,
    ...(truth !== '' && { ground_truth: truthOf(truth) }),
    ...(dataSource !== '' && { data_source: dataSource }),
    ...(extra.trim() !== '' && { extra_info: JSON.parse(extra) }),
  }
}

/** Parses lists and objects as JSON. Everything else stays text, even numbers: rules read `39` and `"39"` alike. */
function truthOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A policy may answer with a list of objects, but rarely with messages. */
const rolloutStart = /^\s*\[\s*\{\s*"role"/

/** Parses a conversation in JSON, as trainers send it. */
function conversationOf(text: string): unknown {
  if (!/^\s*\[\s*\{/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
