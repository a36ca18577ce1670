/** `reward-gateway`: opens a gateway in this process, scores rollouts and returns outcomes. Reward functions only import `reward-gateway/contract`. */
export { type ErrorCode, GatewayError, type Problem } from './core/errors.ts'
export type {
  Attempt,
  Failure,
  FailureKind,
  GroupMembership,
  ImagePart,
  Json,
  Message,
  OffReason,
  Outcome,
  Part,
  Sample,
  Score,
  Term,
  ToolCall,
} from './core/sample/sample.ts'
export {
  type Gateway,
  type GatewayOptions,
  openGateway,
  type Rollout,
  type Scored,
  type ScoreJob,
} from './library.ts'
