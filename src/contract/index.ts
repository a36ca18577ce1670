/** What the author of a reward function needs: define*, the prompt tag and the shapes of a row. */
export type { Json } from '../core/sample/json.ts'
export type { Message, Sample } from '../core/sample/sample.ts'
export type { Score } from '../core/sample/score.ts'
export { type AskName, type Asks, type Choice, defineGroupRule, defineListReward, defineModelReward, definePairReward, defineRule, type Earlier, type FunctionKind, type Generation, type GroupRule, type ListReward, type Mode, mode, type ModelReward, type PairReward, type Range, type Reply, type RewardFunction, type Row, type Rule, RuleTimeout, type TokenLogprob, type Verdict } from './define.ts'
export { BadSample, chat, type ChatPrompt, conversation, fill, lastUserText, type Optional, optional, type Prompt, prompt, type PromptValue, QuestionError, questionText, steps } from './prompt.ts'
