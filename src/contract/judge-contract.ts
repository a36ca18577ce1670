import type { Json } from '../core/sample/json.ts'
import type { AskName, Asks } from './asks.ts'
import { BadSample } from './bad-sample.ts'
import type { ModelReward } from './define.ts'
import { lastUserText } from './last-user-text.ts'
import { marker, questionTexts, withMarker } from './marker.ts'
import { questionFault } from './question-faults.ts'
import { asScore, endsContract, scoreContract } from './score-contract.ts'
import { type RowParts, row } from './test-row.ts'
import { same, type TestRunner } from './test-runner.ts'

/** What a model answers in a test; of a `generate` judge its text is enough. */
export type TestAnswer<A extends AskName> = Asks[A]['answer'] | (A extends 'generate' ? string : never)

/** Answers that a judge's author names, so that the rest can be checked. */
export interface JudgeCases<A extends AskName> {
  /** The step's options. */
  readonly options?: Json
  /** As of `ruleContract`. */
  readonly within?: number
  /** A row about which the model is asked. */
  readonly asked: RowParts
  /** The verdict that reaches the high end of the range, and the low end. */
  readonly full: TestAnswer<A>
  readonly zero: TestAnswer<A>
  /** Answers that hold no verdict, by what is odd about them; a `generate` judge names at least one. */
  readonly unreadable?: Readonly<Record<string, TestAnswer<A>>>
}

/**
 * Holds a judge to its contract: a question that guards the response and is the same twice, verdicts in the range, no
 * verdict where none can be read, and one in each reply that it allows.
 */
export function judgeContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  cases: JudgeCases<A>,
): void {
  const parts = { ...(cases.options === undefined ? {} : { options: cases.options }), ...cases.asked }
  const asked = row(judge, parts)
  const { options } = asked
  askContract(t, judge, parts)
  const limits = { range: judge.range(options), parts: judge.parts(options) }
  t.ok(judge.rm_postprocess, 'rm_postprocess reads the answer')
  const read = (answer: TestAnswer<A>) => {
    const whole = typeof answer === 'string' ? { text: answer, finishReason: 'stop' } : answer
    return asScore(judge.rm_postprocess?.(whole as Asks[A]['answer'], asked) ?? null)
  }
  const check = (title: string, answer: TestAnswer<A>): number => {
    const score = read(answer)
    t.ok(score !== null, `${title}: is a verdict`)
    same(t, read(answer), score, `${title}: the same twice`)
    return scoreContract(t, title, score, limits)
  }
  const [full, zero] = [check('full', cases.full), check('zero', cases.zero)]
  endsContract(t, limits.range, { ...cases, full, zero })
  const reply = typeof judge.reply === 'function' ? judge.reply(options) : judge.reply
  const choices = reply && 'choice' in reply ? reply.choice : []
  for (const choice of choices) check(`the reply '${choice}'`, choice as TestAnswer<A>)
  const unreadable = Object.entries(cases.unreadable ?? {})
  if (judge.ask === 'generate') t.ok(unreadable.length > 0, 'at least one unreadable answer is named')
  for (const [name, answer] of unreadable) {
    const score = read(answer)
    t.ok(score === null, `${name}: is no verdict${score === null ? '' : `, but ${score.value}`}`)
  }
}

function askContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): void {
  const marked = row(judge, { ...parts, response: withMarker(parts.response ?? '') })
  const question = judge.rm_preprocess(marked)
  same(t, judge.rm_preprocess(marked), question, 'the question: the same twice')
  t.ok(typeof question !== 'number', 'the question: `asked` leads to one')
  if (typeof question === 'number') return
  const { trusted, untrusted } = questionTexts(question)
  const has = (text: string) => text.includes(marker)
  t.ok([...trusted, ...untrusted].some(has), 'the question: holds the response')
  t.ok(!trusted.some(has), 'the question: guards the response (put it into prompt`...`)')
  const fault = questionFault(judge.ask, question, [marked])
  t.ok(fault === null, `the question: asks about something${fault ? `, but ${fault.detail}` : ''}`)
  promptContract(t, judge, parts)
}

const someQuestion = 'What is two and two?'

/** Trainers send a prompt as a text or as messages: the question is about it either way. */
function promptContract<A extends AskName, T, O>(
  t: TestRunner,
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): void {
  const given = lastUserText({ prompt: parts.prompt ?? '' })
  const text = `${given.trim() === '' ? someQuestion : given} ${marker}`
  const turns = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: text },
  ]
  const asText = asking(judge, { ...parts, prompt: text })
  if (asText === null || asText instanceof Error) return
  const asMessages = asking(judge, { ...parts, prompt: turns })
  const wrong = asMessages instanceof Error ? asMessages.message : null
  t.ok(wrong === null, `a prompt of messages: leads to a question${wrong === null ? '' : `, but ${wrong}`}`)
  if (asMessages === null || asMessages instanceof Error) return
  t.ok(
    asMessages.includes(marker) || !asText.includes(marker),
    'a prompt of messages: the question holds what is asked (lastUserText(sample), or the messages in prompt`...`)',
  )
}

/** All that a question about such a row says; null: none is asked, or the row is refused. An error: it cannot be. */
function asking<A extends AskName, T, O>(
  judge: ModelReward<A, T, O>,
  parts: RowParts,
): string | Error | null {
  try {
    const asked = row(judge, parts)
    const question = judge.rm_preprocess(asked)
    if (typeof question === 'number') return null
    const fault = questionFault(judge.ask, question, [asked])
    if (fault) return new Error(fault.detail)
    const { trusted, untrusted } = questionTexts(question)
    return [...trusted, ...untrusted].join('\n')
  } catch (error) {
    if (error instanceof BadSample) return null
    return error instanceof Error ? error : new Error('something was thrown that is no Error')
  }
}
