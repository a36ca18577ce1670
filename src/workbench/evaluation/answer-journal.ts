import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { jsonLines } from '../dataset/json-lines.ts'
import { wholeLines } from '../dataset/lines.ts'
import { eachRow } from '../dataset/row-source.ts'
import { unwritable } from '../dataset/unwritable.ts'
import type { PolicyAnswer } from '../rollout/policy.ts'

/** Which answer: the turn of its row and run, and its draw, both from 0. */
interface AnswerPlace {
  readonly turn: number
  readonly draw: number
}

/** The sampled answers of an unfinished evaluation, as they come: what is in it is not sampled again. */
export interface AnswerJournal {
  /** What an earlier run of the process has left. */
  take(place: AnswerPlace): PolicyAnswer | undefined
  /** Resolves once the system has it, so that a kill cannot lose it. */
  add(place: AnswerPlace, answer: PolicyAnswer): Promise<void>
  close(): Promise<void>
  /** Closes, and deletes the file. */
  discard(): Promise<void>
}

/** `resume`: goes on with the file, if it is there; answers of turns before `from` are done with. Throws RG_INPUT_INVALID. */
export async function openAnswerJournal(path: string, resume: boolean, from: number): Promise<AnswerJournal> {
  const isThere = resume && existsSync(path)
  if (isThere) await wholeLines(path)
  const kept = isThere ? await keptAnswers(path, from) : new Map<string, PolicyAnswer>()
  const stream = createWriteStream(path, { flags: isThere ? 'a' : 'w' })
  await once(stream, 'open').catch(unwritable)
  // A write that fails is told to whom it concerns; the event alone would end the process.
  stream.on('error', () => {})
  const close = () => new Promise<void>((resolve) => stream.end(resolve))
  return {
    take(place) {
      const key = keyOf(place)
      const found = kept.get(key)
      kept.delete(key)
      return found
    },
    add({ turn, draw }, { text, finishReason, tokens }) {
      const line = JSON.stringify({ turn, draw, text, finish_reason: finishReason, tokens })
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
    const { turn, draw, text, finish_reason: finishReason, tokens } = (value ?? {}) as Record<string, unknown>
    if (typeof turn !== 'number' || typeof draw !== 'number' || turn < from) continue
    if (typeof text !== 'string' || typeof finishReason !== 'string' || typeof tokens !== 'number') continue
    kept.set(keyOf({ turn, draw }), { text, finishReason, tokens })
  }
  return kept
}
