import { GatewayError } from '../../core/errors.ts'
import type { Failure } from '../../core/sample/sample.ts'
import type { PolicyAnswer } from '../rollout/policy.ts'
import type { AnswerJournal } from './answer-journal.ts'
import type { Evaluation } from './evaluation.ts'
import { answerOfLine } from './result-line.ts'
import { Slots } from './slots.ts'
import { promptOf, seedOf, type Turn } from './turn.ts'

/** Where a turn's answers come from: an earlier file, the journal, the policy. */
export interface Answers {
  /** All answers of a turn. `before`: its lines in the file that is gone over again. Rejects when the run is to end. */
  of(turn: Turn, before: readonly unknown[] | null): Promise<readonly (PolicyAnswer | Failure)[]>
}

/** `journal` gets what the policy answers. */
export function openAnswers(evaluation: Evaluation, journal: AnswerJournal): Answers {
  const { policy, n, chat, seed, sampling, signal, events } = evaluation
  const slots = new Slots(policy.limit)
  const mostFailures = Math.max(32, 2 * policy.limit)
  let failures = 0
  const sampled = async (turn: Turn, draw: number): Promise<PolicyAnswer | Failure> => {
    if ('failure' in turn.row) return turn.row.failure
    const prompt = promptOf(turn.row, chat)
    const key = `${turn.index} ${turn.run} ${draw}`
    const answer = await slots.with(async () => {
      signal.throwIfAborted()
      if (failures >= mostFailures) throw silent(failures)
      const drawn = seed === null ? sampling : { ...sampling, seed: seedOf(seed, turn, draw) }
      const given = await policy.ask({ prompt, key, sampling: drawn, signal })
      // Kept before the next one is asked: a kill loses no more answers than there are places.
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
    `the policy gave none of the last ${count} answers; see its servers. --resume goes on, and --failed-only then samples what failed`,
  )
