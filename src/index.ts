/** reward-gateway as a library: open a gateway, score samples, read outcomes. */
export { type ErrorCode, GatewayError, type Problem } from './errors.ts'
export {
  AskError,
  type Forwarded,
  type Gateway,
  type GatewayOptions,
  openGateway,
  type Scored,
  type ScoreJob,
} from './gateway/gateway.ts'
export type { Failure, FailureKind } from './sample/failure.ts'
export type { Outcome, Term } from './sample/outcome.ts'
export type { Message, Sample, Unreadable } from './sample/sample.ts'
export type { Score } from './sample/score.ts'
