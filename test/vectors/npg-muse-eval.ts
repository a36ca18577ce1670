import grapharena from '../../reward-functions/grapharena.ts'
import grapharenaBoxed from '../../reward-functions/grapharena-boxed.ts'
import graphwiz from '../../reward-functions/graphwiz.ts'
import graphwizRevised from '../../reward-functions/graphwiz-revised.ts'
import nodeLink from '../../reward-functions/node-link.ts'
import zebralogic from '../../reward-functions/zebralogic.ts'
import zebralogicOfN from '../../reward-functions/zebralogic-of-n.ts'
import type { Json, Rule, Score } from '../../src/contract/index.ts'
import { type RowParts, row, scored } from '../../src/contract/testing.ts'
import { type Answers, graphArenaOrders, leaderboard } from '../../src/workbench/analysis/leaderboard.ts'
import { mathBenchmarkAnswers } from './math-benchmark.ts'
import { type Adapter, raises, type Vector } from './vector.ts'

function found<T, O>(rule: Rule<T, O>, vector: Vector, rest: RowParts) {
  const { prompt = '', response } = vector
  const score = scored(rule, { prompt: String(prompt), response: String(response), ...rest })
  return { right: score?.value === 1, part: (name: string) => score?.parts?.[name], details: score?.details }
}

const arenaRow = (vector: Vector, options: Json): RowParts => ({
  dataSource: String(vector.task),
  extraInfo: { ...(vector.problem as object), exact_answer: vector.exact_answer as Json },
  options,
})

const isGraphWiz = ({ model }: Vector): boolean => String(model).toLowerCase().includes('graphwiz')

export const npgMuseEvaluation: Adapter = {
  answers: {
    ...mathBenchmarkAnswers,
    'grapharena-metrics': (vector) =>
      leaderboard(
        vector as unknown as Answers,
        graphArenaOrders[String(vector.task)] ?? { right: 'equal', better: 'larger' },
      ),
    grapharena: (vector, mode) => ({
      value: found(grapharena, vector, arenaRow(vector, { mode })).part('value'),
    }),
    'grapharena-boxed'(vector, mode) {
      const { right, part, details } = found(grapharenaBoxed, vector, arenaRow(vector, { mode }))
      return {
        generated_answer: details?.extracted,
        value: part('value'),
        accurate: right,
        feasible: part('feasible') === 1,
        hallucination: part('hallucination') === 1,
      }
    },
    graphwiz(vector, mode) {
      const row = { dataSource: String(vector.task), groundTruth: String(vector.truth), options: { mode } }
      return { value: found(graphwiz, vector, row).right }
    },
    'graphwiz-revised'(vector, mode) {
      const { right, details } = found(graphwizRevised, vector, {
        dataSource: String(vector.task),
        groundTruth: String(vector.truth),
        options: { mode, after: isGraphWiz(vector) ? 'hashes' : 'box' },
      })
      return { correct: right, generated_answer: details?.extracted ?? null }
    },
    'node-link'(vector, mode) {
      const { right, details } = found(nodeLink, vector, {
        groundTruth: String(vector.answer),
        options: { mode },
      })
      return { generated_answer: details?.extracted ?? null, correct: right }
    },
    zebralogic(vector, mode) {
      const groundTruth = vector.solution as Json
      const outputs = vector.outputs as readonly string[]
      const choice = String(vector.mode).replace(/_of_n$/, '')
      const score =
        choice === 'single'
          ? scored(zebralogic, { response: outputs[0] ?? '', groundTruth, options: { mode } })
          : (zebralogicOfN.score(
              outputs.map((response) =>
                row(zebralogicOfN, { response, groundTruth, options: { mode, choice } }),
              ),
            )[0] as Score)
      const { parsed, ...parts } = score?.parts ?? {}
      return { ...parts, parsed: parsed === 1, solved: score?.value === 1 }
    },
  },
  wanted,
}

/** A verdict that is null counts as wrong; an answer that a mistake ends is an error. */
function wanted({ expected }: Vector, _mode: string, file: string): unknown {
  const answer = expected as Readonly<Record<string, unknown>>
  if (answer.error !== undefined) return raises
  return file === 'graphwiz' ? { value: answer.value === true } : answer
}
