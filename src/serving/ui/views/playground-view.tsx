import { useState } from 'preact/hooks'
import type { NativeResult } from '../../../trainers/native-result.ts'
import type { ServedReward } from '../../http/inspector/messages.ts'
import type { ShownAsk } from '../../telemetry/live/shown-ask.ts'
import { duration, figure } from '../format.ts'
import { post, Refused } from '../live/session.ts'
import { useLive } from '../live/store.ts'
import { Flags, type ShownStep, Steps } from '../parts/steps.tsx'
import { Text } from '../parts/text.tsx'
import { draft, example, sampleOf } from './playground-draft.ts'

type Result = NativeResult & { readonly asks: Readonly<Record<string, readonly ShownAsk[]>> }

interface Run {
  readonly result: Result
  readonly reward: ServedReward
  readonly ms: number
}

/** Scores one sample by hand and shows each step. */
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
      say(error instanceof SyntaxError ? 'extra_info is no JSON.' : wordsOf(error))
    } finally {
      busy(false)
    }
  }
  return (
    <>
      <div class="view-head">
        <h1>Playground</h1>
        <button type="button" class="quiet" onClick={() => set(example)}>
          Fill in an example
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
            trouble === '' && <p class="empty">Each step, its judges and their answers will stand here.</p>
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
    return term ? [{ name, op, ...term, asks: result.asks[name] ?? [] }] : []
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
    return `${error.message}. Give a key that may score with the button 'Key'.`
  return error instanceof Refused ? error.message : 'The gateway does not answer.'
}
