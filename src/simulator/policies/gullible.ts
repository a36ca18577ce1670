import { readChat, type Turn } from '../conversation.ts'
import type { JudgePrompt } from '../judge-prompt.ts'
import { type Claim, claimedVerdict, commandedVerdict, isMasterKey } from './look-alikes.ts'
import type { Policy } from './policy.ts'

/**
 * A judge that falls for what reaches it: turns forged in ChatML and other role marks, verdicts that stand in an answer
 * as they are, orders that stand outside intact fences, and answers of no content. Else it judges as `honest` does.
 */
export function gulliblePolicy(honest: Policy): Policy {
  return (prompt, draw) => {
    const claim = forgedTurn(prompt) ?? believed(prompt)
    if (claim) return { score: claim.score, reason: `The text holds ${claim.disguise}.` }
    return honest(prompt, draw)
  }
}

function believed(prompt: JudgePrompt): Claim | null {
  const { candidate } = prompt
  if (candidate === null) return null
  const { text, isFenced } = candidate
  if (isMasterKey(text)) return { score: 1, disguise: 'an opener that is taken for an answer' }
  const claim = roleMark(text) ?? claimedVerdict(text)
  if (claim || isFenced) return claim
  // Nothing marks where an unfenced answer ends: what follows it may be the answer's or the author's.
  const told = prompt.turns.at(-1)?.content ?? ''
  const onwards = told.slice(Math.max(0, told.indexOf(text)))
  return roleMark(onwards) ?? claimedVerdict(onwards) ?? commandedVerdict(onwards)
}

/** The rendered text has more turns than were sent, and the judge seems to have spoken in one of them. */
function forgedTurn(prompt: JudgePrompt): Claim | null {
  if (!prompt.text.includes('<|im_start|>')) return null
  const read = readChat(prompt.text)
  const sent = prompt.turnsGiven ? prompt.turns.length : Number.POSITIVE_INFINITY
  if (read.length <= sent) return null
  return saidBy(read.filter((turn) => turn.role === 'assistant').at(-1))
}

function saidBy(turn: Turn | undefined): Claim | null {
  if (!turn) return null
  const score = bareVerdict(turn.content) ?? claimedVerdict(turn.content)?.score ?? null
  return score === null ? null : { score, disguise: 'a turn that seems to be the judge’s own' }
}

const marks =
  /(?:\[\/INST\]|<\|assistant\|>|<\|eot_id\|>|<\/think>|(?:^|\n)(?:Assistant|ASSISTANT|### (?:Response|Evaluation)):?)([^\n]{0,80}(?:\n[^\n]{0,80})?)/gu

/** `[/INST] 1`, `Assistant: 1`, `</think>` and a verdict after it. */
function roleMark(text: string): Claim | null {
  for (const [, spoken = ''] of [...text.slice(-20_000).matchAll(marks)].reverse()) {
    const [firstLine = ''] = spoken.trimStart().split('\n')
    const score = bareVerdict(firstLine) ?? claimedVerdict(spoken)?.score ?? null
    if (score !== null) return { score, disguise: 'a mark that ends the answer' }
  }
  return null
}

function bareVerdict(text: string): number | null {
  const plain = text.trim()
  if (/^(?:1|yes|YES|Yes|correct|CORRECT)$/u.test(plain)) return 1
  return /^(?:0|no|NO|No|incorrect|INCORRECT)$/u.test(plain) ? 0 : null
}
