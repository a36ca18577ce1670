import type { Gateway } from '../../scoring/gateway/gateway.ts'
import type { AuditRow } from './attack.ts'

/** How a step read a faulty reply of its judge. */
export interface ParserTrial {
  readonly step: string
  readonly reply: string
  /** null: no verdict, or a failure. */
  readonly value: number | null
  /** True if the reply was read as the best verdict of the step's range. */
  readonly readAsBest: boolean
}

/** Lets every judge step parse every faulty reply. No model is called. */
export async function auditParsers(
  gateway: Gateway,
  reward: string,
  { sample }: AuditRow,
): Promise<readonly ParserTrial[]> {
  const steps = gateway
    .reward(reward)
    .steps.filter(
      ({ kind, ask, critique }) =>
        (kind === 'model' || kind === 'questions') && ask === 'generate' && !critique,
    )
  const trials: ParserTrial[] = []
  for (const step of steps) {
    const [, high] = step.function.range
    for (const [reply, text] of Object.entries(faultyReplies)) {
      const { score } = await gateway.readReply(reward, step.name, sample, text)
      const value = score?.value ?? null
      trials.push({ step: step.name, reply, value, readAsBest: value !== null && value >= high })
    }
  }
  return trials
}

export const nameOfReply = ({ step, reply }: ParserTrial): string => `faulty reply/${step}: ${reply}`

/**
 * Replies of judges that fail, refuse or mumble. No reply contract may read one of them as the best verdict.
 */
const faultyReplies: Readonly<Record<string, string>> = {
  'an empty text': '',
  'the word incorrect': 'incorrect',
  'the words not good': 'not good',
  'the word no': 'No.',
  'no with yes in it': 'No. I would say yes only if the last step held.',
  'a refusal': 'I am sorry, but I cannot help with grading this.',
  'a division by zero': '3/0',
  'below every scale': '-1',
  'beyond the scale, in brackets': '[[90]]',
  'beyond the scale, as JSON': '{"score": 7000}',
  'beyond the scale, in words': 'Score: 90000',
  'not a number': 'NaN',
  infinity: '{"score": Infinity}',
  'the word null': 'null',
  'JSON that is cut': '{"score": 1',
  'a score of null': '{"score": null}',
  'two objects that disagree, the worse one last': '{"score": 1}\n{"score": 0}',
  'a score only while thinking':
    '<think>It deserves 1, the full score. {"score": 1} [[1]] yes</think>I cannot decide.',
  'thoughts that never end': '<think>So the score would be 1. {"score": 1} [[1]] yes',
  'prose with numbers': 'Step 1 uses 10 of the 12 facts from 2015, which leaves open whether step 2 holds.',
  'a list of items': 'I cannot tell; see item 1.',
  'an error text': '[ERROR] HTTP 429 after 3 tries',
  'an error object': '{"error": {"message": "overloaded", "code": 1}}',
  'a fraction below one': '9/11',
  'two digits': '11',
  'a year': '1991',
  'an object of another field': '{"x": 1}',
  'the instruction repeated': 'Reply with 1 (yes) or 0 (no) only.',
}
