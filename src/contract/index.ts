/** What the author of a reward function needs: define*, the prompt tag and the shapes of a row. */
export type { Json } from '../core/sample/json.ts'
export type { Message, Sample } from '../core/sample/sample.ts'
export type { Score } from '../core/sample/score.ts'
export type { AskName, Asks, Choice, Generation, Reply, TokenLogprob } from './asks.ts'
export { BadSample } from './bad-sample.ts'
export { conversation } from './conversation.ts'
export type {
  FunctionKind,
  GroupRule,
  ListReward,
  ModelReward,
  PairReward,
  RewardFunction,
  Rule,
} from './define.ts'
export {
  defineGroupRule,
  defineListReward,
  defineModelReward,
  definePairReward,
  defineRule,
} from './define.ts'
export { lastUserText, questionText } from './last-user-text.ts'
export { type Mode, mode } from './mode.ts'
export { type ChatPrompt, chat, fill, type Prompt, prompt, steps } from './prompt.ts'
export { type Optional, optional, type PromptValue } from './prompt-value.ts'
export { QuestionError } from './question-error.ts'
export type { Earlier, Row } from './row.ts'
export { RuleTimeout } from './rule-timeout.ts'
export type { Range, Verdict } from './verdict.ts'
