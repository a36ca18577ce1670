import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import riderBge from '../../reward-functions/rider-bge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import riderRule from '../../reward-functions/rider-rule.ts'
import type { Generation, Json, Prompt, Verdict } from '../../src/contract/index.ts'
import { type RowParts, row, scored } from '../../src/contract/testing.ts'
import { publishedLookup, quoteKeys, soundLookup, spreadSimilarity } from '../../src/grading/index.ts'
import type { Answer, Vector } from './vector.ts'

/** A question as the original wrote it, or with the fences that the vectors' sound results have around model text. */
function rendered(question: unknown, { input, sound_score }: Vector, mode: string): string {
  if (typeof question === 'number') throw new TypeError('no question is asked')
  const { literals, values } = question as Prompt
  const nonce = (sound_score as { nonce?: string } | undefined)?.nonce
  const fence = (value: string): string => (mode === 'sound' ? `⟦${nonce}\n${value}\n${nonce}⟧` : value)
  const text = literals
    .map((literal, i) => literal + (i < values.length ? fence(values[i] ?? '') : ''))
    .join('')
  return input.rm_chat_template === 'chat' ? text : `User: \n${text}\nAssistant: \n`
}

const numberOf = (verdict: Verdict): number | null =>
  typeof verdict === 'object' ? (verdict?.value ?? null) : verdict

const judged = (text: unknown): Generation => ({ text: text as string, finishReason: 'stop' })

/** Two vectors whose similarity the function spreads to `spread`. */
function vectorsOf(spread: number): number[][] {
  const cosine = 0.9 + Math.log((spread - 0.1) / 1.69811 + 0.1) / Math.log(10000)
  return [
    [1, 0],
    [cosine, Math.sqrt(1 - cosine * cosine)],
  ]
}

/** Without a similarity the service failed; the original scores 0, here a config's `on_invalid: 0` does. */
function similar(parts: RowParts, spread: unknown): number | null {
  const built = row(riderBge, parts)
  const asked = riderBge.rm_preprocess(built)
  if (typeof asked === 'number') return asked
  return typeof spread === 'number'
    ? numberOf(riderBge.rm_postprocess?.(vectorsOf(spread), built) ?? null)
    : 0
}

export const riderAnswers: Readonly<Record<string, Answer>> = {
  rider_rule: ({ input }, mode) =>
    scored(riderRule, {
      response: input.solution_str as string,
      groundTruth: input.ground_truth as Json,
      options: { mode },
    })?.value,
  rider_bge: ({ input }, mode) =>
    similar(
      {
        response: input.solution_str as string,
        groundTruth: input.ground_truth as Json,
        options: { mode },
      },
      input.similarity,
    ),
  bge_map: ({ input }) => spreadSimilarity(Number(input.similarity)),
  rider_preprocess: (vector, mode) => {
    const { rm_prompts, responses } = vector.input as {
      rm_prompts: readonly unknown[]
      responses: readonly string[]
    }
    return responses.slice(0, rm_prompts.length).map((response, i) => {
      const rmPrompt = rm_prompts[i]
      if (typeof rmPrompt !== 'string') throw new TypeError('a judge prompt is a text')
      return rendered(
        riderJudge.rm_preprocess(row(riderJudge, { response, rmPrompt, options: { mode } })),
        vector,
        mode,
      )
    })
  },
  consistency_preprocess: (vector, mode) => {
    const { template, catalog, responses } = vector.input as {
      template: Json
      catalog: Json
      responses: string[]
    }
    return responses.map((response) =>
      rendered(
        consistencyJudge.rm_preprocess(
          row(consistencyJudge, { response, options: { mode, template, catalog } }),
        ),
        vector,
        mode,
      ),
    )
  },
  rider_postprocess: ({ input }, mode) =>
    numberOf(
      riderJudge.rm_postprocess?.(judged(input.result), row(riderJudge, { options: { mode } })) ?? null,
    ),
  consistency_postprocess: ({ input }, mode) =>
    numberOf(
      consistencyJudge.rm_postprocess?.(judged(input.result), row(consistencyJudge, { options: { mode } })) ??
        null,
    ),
  repair_json_rider: ({ input }) => quoteKeys(String(input.text), true),
  repair_json_consistency: ({ input }) => quoteKeys(String(input.text), false),
  lookup_solution: ({ input }, mode) => {
    const catalog = input.catalog as readonly string[]
    return mode === 'sound' ? soundLookup(catalog)(input.solution) : publishedLookup(input.solution, catalog)
  },
}
