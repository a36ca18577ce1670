import { useState } from 'preact/hooks'
import type { NativeResult } from '../../../trainers/native-result.ts'
import type { ServedReward } from '../../http/inspector/messages.ts'
import type { RowDetail, ShownAsk } from '../../telemetry/live/shown-row.ts'
import { duration, figure } from '../format.ts'
import { askJson, post, Refused } from '../live/session.ts'
import { type LiveState, useLive } from '../live/store.ts'
import { Flags, type ShownStep, Steps } from '../parts/steps.tsx'
import { Text } from '../parts/text.tsx'

type Result = NativeResult & { readonly asks: Readonly<Record<string, readonly ShownAsk[]>> }

interface Run {
  readonly result: Result
  readonly reward: ServedReward
  readonly ms: number
}

const rowsOf = (live: LiveState, { name }: ServedReward): number => live.rewards.get(name)?.rows ?? 0

/** Scores one sample entered by hand and shows each step. */
export function PlaygroundView() {
  const live = useLive()
  // Those in use first.
  const rewards = [...(live.served?.rewards ?? [])].sort((a, b) => rowsOf(live, b) - rowsOf(live, a))
  const [, draw] = useState(0)
  const [run, show] = useState<Run | null>(null)
  const [trouble, say] = useState('')
  const [isBusy, busy] = useState(false)
  const [before, keep] = useState<Draft | null>(null)
  const set = (part: Partial<typeof draft>) => {
    Object.assign(draft, part)
    draw((times) => times + 1)
  }
  const chosen =
    rewards.find(({ name }) => name === draft.reward) ??
    (live.rewards.size === 0 ? rewards.find(({ name }) => name === 'demo') : null) ??
    rewards[0]
  const recent = live.rows.find(({ reward, response }) => reward === chosen?.name && response !== null)
  const fill = async () => {
    keep({ ...draft })
    say('')
    if (!recent) return set(example)
    try {
      const row = await askJson<RowDetail>(`api/rows/${encodeURIComponent(recent.id)}`)
      loadDraft(row)
      set({})
    } catch (error) {
      say(wordsOf(error))
    }
  }
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
          <div class="actions">
            <button type="button" onClick={fill}>
              {recent ? 'Fill in its last sample' : 'Fill in an example'}
            </button>
            {before && (
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  set(before)
                  keep(null)
                }}
              >
                Undo
              </button>
            )}
            {!recent && <span class="muted">a word problem with a number as its ground truth</span>}
          </div>
          <Area
            label="Prompt"
            hint="a text, or messages as JSON"
            rows={4}
            value={draft.prompt}
            write={(prompt) => set({ prompt })}
            submit={submit}
          />
          <Area
            label="Response"
            hint="a text, or messages as JSON"
            rows={8}
            value={draft.response}
            write={(response) => set({ response })}
            submit={submit}
          />
          <Area
            label="Ground truth"
            hint="a text, or JSON"
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
            <span class="muted">or Ctrl + Enter in a field</span>
          </div>
        </form>
        <section class="panel result" aria-label="Result" aria-live="polite">
          <h2 class="hidden">Result</h2>
          {trouble !== '' && <p class="error">{trouble}</p>}
          {run ? (
            <Shown run={run} />
          ) : (
            trouble === '' && (
              <p class="empty">
                Enter a response and choose Score. The result appears here, with each step, its judges and
                their answers.
              </p>
            )
          )}
        </section>
      </div>
    </>
  )
}

function Area(props: {
  readonly label: string
  readonly hint?: string
  readonly rows: number
  readonly value: string
  readonly write: (value: string) => void
  readonly submit: (event: Event) => void
}) {
  const { label, hint, rows, value, write, submit } = props
  return (
    <label>
      <span>
        {label}
        {hint && <small> {hint}</small>}
      </span>
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
    prompt: typeof sample.prompt === 'string' ? sample.prompt : JSON.stringify(sample.prompt, null, 1),
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
