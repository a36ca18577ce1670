import { hash } from 'node:crypto'
import type { KeptAnswer, KeptAnswers } from '../../scoring/gateway/gateway.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/**
 * The judges' answers of rollouts that are scored together. New ones go to disk with the next commit, so that a restart asks only
 * for what was under way. `reused` is called for each answer that need not be asked for again.
 */
export async function keptAnswers(
  store: RunStore,
  members: readonly Pending[],
  reused: () => void,
): Promise<KeptAnswers> {
  const known = new Map<string, string>()
  for (const pending of members)
    if (pending.answers.size > 0)
      for (const [key, answer] of await store.reader.answersOf(pending)) known.set(key, answer)
  // Two steps may ask the same question: each has its own answer.
  const taken = new Map<string, number>()
  const added = new Map<string, number>()
  return {
    get(question) {
      if (known.size === 0) return undefined
      const key = keyOf(question)
      const at = taken.get(key) ?? 0
      const kept = known.get(`${key} ${at}`)
      if (kept === undefined) return undefined
      taken.set(key, at + 1)
      reused()
      return JSON.parse(kept) as KeptAnswer
    },
    add(question, { answer, instance, prompt, completion }) {
      const owner = members.find(({ isOver }) => !isOver)
      const text = owner ? exactJson({ answer, instance, prompt, completion }) : null
      if (!owner || text === null) return
      const key = keyOf(question)
      let at = added.get(key) ?? 0
      while (known.has(`${key} ${at}`)) at += 1
      added.set(key, at + 1)
      void store.keepAnswer(owner, `${key} ${at}`, text)
    },
  }
}

/** The key of a question holds its sampling settings in full. */
const keyOf = (question: string): string => hash('sha256', question, 'base64').slice(0, 32)

/** The JSON of an answer; null if JSON would change it. */
function exactJson(value: KeptAnswer): string | null {
  let isExact = true
  const text = JSON.stringify(value, (_key, one) => {
    if ((typeof one === 'number' && !Number.isFinite(one)) || ArrayBuffer.isView(one)) isExact = false
    return one
  })
  return isExact ? text : null
}
