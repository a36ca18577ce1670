import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { faultyReplies } from './faulty-replies.ts'
import type { AuditRow } from './subject.ts'

/** What a step of a reward made of one faulty reply of its judge. */
export interface ParserTrial {
  readonly step: string
  readonly reply: string
  /** null: no verdict, or a failure. */
  readonly value: number | null
  /** It was read as the best verdict of the step's range. */
  readonly readAsBest: boolean
}

/** Has every judge step read every faulty reply; no model is asked. */
export async function auditParsers(
  gateway: Gateway,
  reward: string,
  { sample }: AuditRow,
): Promise<readonly ParserTrial[]> {
  const steps = gateway
    .reward(reward)
    .steps.filter(({ kind, ask, critique }) => kind === 'model' && ask === 'generate' && !critique)
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

/** As reports name it. */
export const nameOfReply = ({ step, reply }: ParserTrial): string => `faulty reply/${step}: ${reply}`
