import rule from '../../reward-functions/qa-f1.ts'
import type { Json } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'
import { type QaGrader, slimeF1, squadScore, squadScores } from '../../src/grading/published-qa.ts'
import type { Adapter, Answer, Vector } from './vector.ts'

const score = (grader: QaGrader, { input: { prediction, label } }: Vector): number | undefined =>
  scored(rule, {
    response: String(prediction),
    groundTruth: label as Json,
    options: { mode: 'published', grader },
  })?.value

const verifiers = ['string_f1', 'string_matcher', 'puzzle', 'flan', 're_search', 're_search_f1'] as const

/** SQuAD's script, torchmetrics over rows, slime and Open-Instruct's verifiers. */
export const qaVectors: Adapter = {
  answers: {
    ...Object.fromEntries(verifiers.map((name): [string, Answer] => [name, (vector) => score(name, vector)])),
    squad_exact_f1: ({ input: { gold, prediction } }) => squadScore(String(prediction), String(gold)),
    squad_max: ({ input: { golds, prediction } }) => {
      const { parts } = scored(rule, {
        response: String(prediction),
        groundTruth: golds as Json,
        options: { mode: 'published' },
      }) ?? { parts: squadScores('', []) }
      return parts
    },
    squad_corpus: ({ input }) => {
      const golds = input.golds as readonly (readonly string[])[]
      const rows = (input.predictions as readonly string[]).map((prediction, at) =>
        (golds[at] ?? []).map((gold) => squadScore(prediction, gold)),
      )
      const mean = (of: 'exact' | 'f1'): number =>
        (100 * rows.reduce((sum, scores) => sum + Math.max(...scores.map((one) => one[of])), 0)) / rows.length
      return { exact_match: mean('exact'), f1: mean('f1') }
    },
    slime_f1: ({ input: { prediction, ground_truth } }) =>
      slimeF1(prediction === null ? null : String(prediction), String(ground_truth)),
  },
}
