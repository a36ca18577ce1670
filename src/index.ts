/** reward-gateway as a library: open a gateway, score rollouts, read outcomes. Reward functions need `./contract` alone. */
export { type ErrorCode, GatewayError, type Problem } from './core/errors.ts'
export type {
  Attempt,
  Failure,
  FailureKind,
  GroupMembership,
  Json,
  Message,
  OffReason,
  Outcome,
  Sample,
  Score,
  Term,
} from './core/sample/sample.ts'
export {
  type Gateway,
  type GatewayOptions,
  openGateway,
  type Rollout,
  type Scored,
  type ScoreJob,
} from './library.ts'
