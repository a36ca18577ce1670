import { codeVectors } from './code.ts'
import { gsm8kProgressive } from './gsm8k-progressive.ts'
import { ifbenchVectors, ifevalgVectors, ifevalVectors } from './instructions.ts'
import { lengthVectors } from './length.ts'
import { mathVerifyVectors } from './math-verify.ts'
import { npgMuseVectors } from './npg-muse.ts'
import { npgMuseEvaluation } from './npg-muse-eval.ts'
import { qaVectors } from './qa-f1.ts'
import { rubricVectors } from './rubric.ts'
import { textMetrics } from './text-metrics.ts'
import { toolCalls } from './tool-call.ts'
import type { Adapter } from './vector.ts'
import { verlStudy } from './verl-study.ts'
import { verlWithRms } from './verl-with-rms.ts'

/** By the name of the folder that holds the vector files. */
export const adapters: Readonly<Record<string, Adapter>> = {
  code: codeVectors,
  'gsm8k-progressive': gsm8kProgressive,
  ifbench: ifbenchVectors,
  ifeval: ifevalVectors,
  ifevalg: ifevalgVectors,
  length: lengthVectors,
  'math-verify': mathVerifyVectors,
  'npg-muse': npgMuseVectors,
  'npg-muse-eval': npgMuseEvaluation,
  'qa-f1': qaVectors,
  rubric: rubricVectors,
  'text-metrics': textMetrics,
  'tool-call': toolCalls,
  'verl-with-rms': verlWithRms,
  'verl-study': verlStudy,
}
