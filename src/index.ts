/** reward-gateway as a library: open a gateway, score rollouts, read outcomes. Reward functions need `./contract` alone. */
export { type ErrorCode, GatewayError, type Problem } from './core/errors.ts'
export type { Attempt, Failure, FailureKind } from './core/sample/failure.ts'
export type { Json } from './core/sample/json.ts'
export type { OffReason, Outcome, Term } from './core/sample/outcome.ts'
export type { GroupMembership, Message, Sample } from './core/sample/sample.ts'
export type { Score } from './core/sample/score.ts'
export {
  type Gateway,
  type GatewayOptions,
  openGateway,
  type Rollout,
  type Scored,
  type ScoreJob,
} from './library.ts'
