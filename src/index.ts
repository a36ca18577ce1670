/** reward-gateway as a library: open a gateway, score rollouts, read outcomes. Reward functions need `./contract` alone. */
export { type ErrorCode, GatewayError, type Problem } from './errors.ts'
export {
  type Gateway,
  type GatewayOptions,
  openGateway,
  type Rollout,
  type Scored,
  type ScoreJob,
} from './library.ts'
export type { Attempt, Failure, FailureKind } from './sample/failure.ts'
export type { Json } from './sample/json.ts'
export type { OffReason, Outcome, Term } from './sample/outcome.ts'
export type { GroupMembership, Message, Sample } from './sample/sample.ts'
export type { Score } from './sample/score.ts'
