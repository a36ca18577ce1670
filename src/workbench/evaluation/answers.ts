import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import pLimit from 'p-limit'
import { GatewayError } from '../../core/errors.ts'
import type { Failure, Message } from '../../core/sample/sample.ts'
import { unwritable, wholeLines } from '../dataset/files.ts'
import { eachRow } from '../dataset/row.ts'
import { jsonLines } from '../dataset/rows.ts'
import type { PolicyAnswer } from '../rollout/policy.ts'
import type { Evaluation } from './evaluation.ts'
import { answerOfLine, promptOf, seedOf, type Turn } from './turn.ts'

/** Collects a turn's answers from an earlier output, the journal or the policy. */
export interface Answers {
  /** `before` holds the turn's lines from an earlier output. Rejects if the evaluation must stop. */
  of(turn: Turn, before: readonly unknown[] | null): Promise<readonly (PolicyAnswer | Failure)[]>
}

/** Answers of the policy are added to `journal`. */
export function openAnswers(evaluation: Evaluation, journal: AnswerJournal): Answers {
  const { policy, n, chat, seed, sampling, signal, events } = evaluation
  const limited = pLimit(policy.limit)
  const mostFailures = Math.max(32, 2 * policy.limit)
  let failures = 0
  const sampled = async (turn: Turn, draw: number): Promise<PolicyAnswer | Failure> => {
    if ('failure' in turn.row) return turn.row.failure
    const prompt = promptOf(turn.row, chat)
    const key = `${turn.index} ${turn.run} ${draw}`
    const answer = await limited(async () => {
      signal.throwIfAborted()
      if (failures >= mostFailures) throw silent(failures)
      const drawn = seed === null ? sampling : { ...sampling, seed: seedOf(seed, turn, draw) }
      const given = await policy.ask({ prompt, tools: turn.tools, key, sampling: drawn, signal })
      // Written before the slot is free, so that a killed process loses at most the answers in flight.
      if (!('kind' in given)) await journal.add({ turn: turn.turn, draw }, given)
      return given
    })
    const isGood = !('kind' in answer)
    if (isGood) failures = 0
    else if (answer.retryable) failures++
    events.sampled?.(isGood)
    return answer
  }
  return {
    of(turn, before) {
      const one = async (draw: number) => {
        const kept = journal.take({ turn: turn.turn, draw }) ?? answerOfLine(before?.[draw])
        return kept ?? sampled(turn, draw)
      }
      return Promise.all(Array.from({ length: n }, (_, draw) => one(draw)))
    },
  }
}

const silent = (count: number): GatewayError =>
  new GatewayError(
    'RG_MODEL_FAILED',
    `the last ${count} answers of the policy failed; check its servers. Continue with --resume, then sample the failed ones with --failed-only`,
  )

/** Identifies an answer by its turn and draw, both from 0. */
interface AnswerPlace {
  readonly turn: number
  readonly draw: number
}

/** Stores sampled answers of an unfinished evaluation, so that a resumed run does not sample them again. */
interface AnswerJournal {
  /** Returns and removes an answer of an earlier process. */
  take(place: AnswerPlace): PolicyAnswer | undefined
  /** Resolves when the operating system has the line, so that a kill cannot lose it. */
  add(place: AnswerPlace, answer: PolicyAnswer): Promise<void>
  close(): Promise<void>
  /** Closes and deletes the file. */
  discard(): Promise<void>
}

/** With `resume`, continues an existing file and skips the turns before `from`. Throws RG_INPUT_INVALID. */
export async function openAnswerJournal(path: string, resume: boolean, from: number): Promise<AnswerJournal> {
  const isThere = resume && existsSync(path)
  if (isThere) await wholeLines(path)
  const kept = isThere ? await keptAnswers(path, from) : new Map<string, PolicyAnswer>()
  const stream = createWriteStream(path, { flags: isThere ? 'a' : 'w' })
  await once(stream, 'open').catch(unwritable)
  // The callback of `write` reports the error. An unhandled event would end the process.
  stream.on('error', () => {})
  const close = () => new Promise<void>((resolve) => stream.end(resolve))
  return {
    take(place) {
      const key = keyOf(place)
      const found = kept.get(key)
      kept.delete(key)
      return found
    },
    add({ turn, draw }, { text, finishReason, tokens, turn: whole }) {
      const line = JSON.stringify({ turn, draw, text, finish_reason: finishReason, tokens, whole })
      return new Promise((resolve, reject) =>
        stream.write(`${line}\n`, (error) => (error ? reject(error) : resolve())),
      )
    },
    close,
    async discard() {
      await close()
      await rm(path, { force: true })
    },
  }
}

const keyOf = ({ turn, draw }: AnswerPlace): string => `${turn}/${draw}`

async function keptAnswers(path: string, from: number): Promise<Map<string, PolicyAnswer>> {
  const kept = new Map<string, PolicyAnswer>()
  for await (const { value } of eachRow(await jsonLines(path))) {
    const {
      turn,
      draw,
      text,
      finish_reason: finishReason,
      tokens,
      whole,
    } = (value ?? {}) as Record<string, unknown>
    if (typeof turn !== 'number' || typeof draw !== 'number' || turn < from) continue
    if (typeof text !== 'string' || typeof finishReason !== 'string' || typeof tokens !== 'number') continue
    kept.set(keyOf({ turn, draw }), {
      text,
      finishReason,
      tokens,
      ...(whole !== undefined && { turn: whole as Message }),
    })
  }
  return kept
}
