/** The API for authors of reward functions: `define*`, the `prompt` tag, and the types of a row. */
export type {
  AnsweredCall,
  ImagePart,
  Json,
  Message,
  Part,
  Sample,
  Score,
  StepReward,
  ToolCall,
} from '../core/sample/sample.ts'
export {
  type AskName,
  type Asks,
  type Choice,
  type Generation,
  NoVerdict,
  type Reply,
  type ServiceBatch,
  type ServiceRequest,
  serviceRequest,
  type TokenLogprob,
} from './asks.ts'
export type {
  Decided,
  Decision,
  DecisionAnswers,
  DecisionOption,
  DecisionQuestion,
} from './decision.ts'
export {
  defineGroupRule,
  defineListReward,
  defineModelReward,
  definePairReward,
  defineProgramReward,
  defineRule,
  type FunctionKind,
  type GroupQuestionsReward,
  type GroupRule,
  type ListReward,
  type ModelReward,
  type PairReward,
  type ProgramReward,
  type QuestionsReward,
  type RewardFunction,
  type Rule,
  RuleTimeout,
} from './define.ts'
export { defineGroupQuestionsReward, defineQuestionsReward } from './define-questions.ts'
export type {
  CaseEnd,
  CaseInput,
  CaseResult,
  Execution,
  ExecutionResult,
  Expected,
  ProgramCase,
  ProgramLanguage,
  ProgramLimits,
} from './execution.ts'
export { type FinalAnswer, finalAnswer, type Thinking } from './final-answer.ts'
export {
  type JudgePromptOptions,
  type JudgeValue,
  judgeOptions,
  judgePrompt,
  judgeTemplate,
  type TokenBudgets,
} from './judge-prompt.ts'
export { type Mode, mode, type Scope, scope } from './modes.ts'
export {
  BadSample,
  type ChatPrompt,
  chat,
  fill,
  type Optional,
  optional,
  type Prompt,
  type PromptImage,
  type PromptValue,
  prompt,
  QuestionError,
} from './prompt.ts'
export { conversation, lastUserText, questionText, questionWithImages } from './question.ts'
export type { Finding, PartAsk, PartDecision, PartQuestion, PartQuestions } from './questions.ts'
export { policyTexts, toolCallsOf, transcript, turnsOf } from './rollout.ts'
export type { Earlier, Range, Row, Verdict } from './row.ts'
export type { TranscriptOptions } from './shown-turn.ts'
export {
  aggregateSteps,
  type ResponseStep,
  responseSteps,
  type StepAggregate,
  type StepSplit,
  splitSteps,
  stepAggregate,
  steps,
  type TextStep,
} from './steps.ts'
