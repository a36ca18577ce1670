import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces, exactSearchNormal, promptText } from '../src/grading/index.ts'
import {
  openInstructQa,
  type QaGrader,
  qaGraders,
  searchLabel,
  slimeF1,
  squadScores,
} from '../src/grading/published-qa.ts'
import { type QaScore, type Spans, spanScore, spansScore } from '../src/grading/qa-answer.ts'

const text = z.union([z.string(), z.number().transform(String)])
const aliases = z.union([text.transform((one) => [one]), z.array(text)])
const [mostSpans, longest] = [32, 20_000]

/** One span of several aliases, of a text, a list, SQuAD's `answers` or a search row; or several spans. */
const wanted = z.union(
  [
    aliases.transform((one): Spans => [one]),
    z.object({ spans: z.array(aliases).min(1).max(mostSpans) }).transform(({ spans }): Spans => spans),
    z.object({ target: aliases }).transform(({ target }): Spans => [target]),
    z.object({ text: aliases }).transform(({ text }): Spans => [text]),
    z
      .object({ answers: z.union([aliases, z.object({ text: aliases }).transform(({ text }) => text)]) })
      .transform(({ answers }): Spans => [answers]),
  ],
  {
    error: 'is no text, no list of texts, and no object with text, answers, target or 1 to 32 spans of texts',
  },
)

/** The labels of a published grader, as they came. */
type Truth = Spans | { readonly published: unknown }

/**
 * Pays the F1 of the answer's words with a short gold answer, 0 to 1: with the closest of its aliases, or, of several
 * spans, with the best assignment of the answer's items. An answer that commits to a gold one pays 1. `strict` compares
 * words in their order, keeps the signs of numbers, pays at most the precision, and pays nothing for another number, a
 * denial or a choice of answers. `published` scores as SQuAD's script, slime or Open-Instruct's verifiers do.
 *
 * Invalid: a ground truth without a text to compare, of more than 32 spans or 20,000 characters.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    /** `f1`, or `exact`: 1 if the answer is a gold one and nothing else, apart from case, articles and punctuation. */
    score: z.enum(['f1', 'exact']).default('f1'),
    /** Where the response states its answer, after its thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** The answer that is right if a row has no gold answer, such as `unanswerable`. If absent, such a row is invalid. */
    no_answer: z.string().min(1).optional(),
    /**
     * With `mode: published`, whose scores are reproduced: SQuAD's script (on the text at `place`), slime's `f1`, or
     * Open-Instruct's verifiers by name, which know their own places.
     */
    grader: z.enum(qaGraders).default('squad'),
  }),
  truth: ({ mode, grader, no_answer }): z.ZodType<Truth> => {
    if (mode === 'published' && grader !== 'squad')
      return z.unknown().transform((published) => ({ published }))
    const filled = wanted.transform((spans) =>
      spans.map((one) => (one.length === 0 && no_answer !== undefined ? [no_answer] : one)),
    )
    if (mode === 'published') return filled
    return filled
      .transform((spans) => spans.map((one) => one.filter((alias) => exactSearchNormal(alias) !== '')))
      .refine(
        (spans) => spans.every((one) => one.length > 0),
        'has no answer to compare: send its texts, or set options.no_answer if there is none',
      )
      .refine((spans) => spans.flat().join('').length <= longest, `is longer than ${longest} characters`)
  },
  range: [0, 1],
  parts: ['exact', 'f1'],
  score({ sample: { prompt, response }, truth, options: { mode, score, place, grader } }): Score {
    if ('published' in truth) return publishedScore(grader, response, truth.published)
    const question = promptText(prompt)
    const stated = answerAt(response, place, question)
    if (mode === 'published') {
      const text = place === 'whole' ? response : 'text' in stated ? stated.text : ''
      return scoreOf(squadScores(text, truth.flat()), score)
    }
    if ('reason' in stated) return scoreOf({ exact: 0, f1: 0 }, score, stated.reason)
    const found = answerScore(stated.text, truth, question)
    return scoreOf({ exact: Number(found.exact), f1: found.f1 }, score, found.reason)
  },
})

const answerScore = (answer: string, spans: Spans, question: string): QaScore =>
  spans.length === 1 ? spanScore(answer, spans[0] ?? [], question) : spansScore(answer, spans, question)

function scoreOf(
  parts: { readonly exact: number; readonly f1: number },
  score: 'exact' | 'f1',
  reason?: string,
): Score {
  return { value: parts[score], parts, details: reason === undefined ? {} : { reason } }
}

function publishedScore(grader: QaGrader, response: string, label: unknown): Score {
  if (grader === 'slime' || grader === 'squad') return { value: slimeF1(response, String(label)).f1 }
  const isSearch = grader === 're_search' || grader === 're_search_f1'
  const read = isSearch && typeof label === 'string' ? searchLabel(label) : label
  return { value: openInstructQa(grader, response, read) }
}
