/** Checks what rm_preprocess of a program reward returned. */

import { z } from 'zod'
import { type Execution, programLanguages } from '../../../contract/execution.ts'
import { ContractViolation } from './check-results.ts'

const tolerance = z.number().min(0).max(1).optional()
const python = z.string().max(16_000_000)
const expected = z
  .union([
    z.strictObject({ stdout: z.string(), tolerance }),
    z.strictObject({ exact: z.string() }),
    z.strictObject({ json: z.string(), tolerance }),
    z.strictObject({ python, tolerance }),
    z.strictObject({ python, atol: z.number().min(0).max(1) }),
    z.strictObject({ holds: python, python: python.optional() }),
  ])
  .optional()
const seconds = z.number().positive().max(3600).optional()

/** Cases of a program. */
export const mostCases = 10_000

const execution = z.strictObject({
  language: z.enum(programLanguages),
  program: z.string().max(1_000_000),
  setup: z.string().max(1_000_000).optional(),
  cases: z
    .array(
      z.union([
        z.strictObject({ stdin: z.string(), expected }),
        z.strictObject({ call: z.string().max(200), args: z.string(), expected }),
        z.strictObject({ value: z.string().max(1_000_000), expected }),
        z.strictObject({ check: z.string().max(1_000_000) }),
      ]),
    )
    .min(1)
    .max(mostCases),
  limits: z
    .strictObject({
      cpuSeconds: seconds,
      wallSeconds: seconds,
      totalSeconds: seconds,
      memoryMb: z.int().min(16).max(65_536).optional(),
      outputMb: z.number().positive().max(64).optional(),
    })
    .optional(),
  stop: z.enum(['first_failure', 'first_passes', 'never']).optional(),
  report: z.enum(['verdicts', 'outputs']).optional(),
})

/** Texts of all cases together. */
const mostCharacters = 256 * 1024 * 1024

/** A checked copy. Throws ContractViolation, which never quotes the program. */
export function checkExecution(value: unknown): Execution {
  const parsed = execution.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue && issue.path.length > 0 ? ` at ${z.core.toDotPath(issue.path)}` : ''
    throw new ContractViolation(
      `rm_preprocess returned no program and cases${place}: ${issue?.message ?? ''}`,
    )
  }
  const { language, cases } = parsed.data
  if (language !== 'python' && cases.some((one) => !('stdin' in one)))
    throw new ContractViolation(
      `rm_preprocess returned a case without stdin: only Python has others, not ${language}`,
    )
  let characters = 0
  for (const one of cases) {
    for (const text of Object.values(one)) if (typeof text === 'string') characters += text.length
    if ('call' in one && !isJsonList(one.args))
      throw new ContractViolation('rm_preprocess returned a call whose args are not the text of a JSON list')
  }
  if (characters > mostCharacters)
    throw new ContractViolation(`rm_preprocess returned cases of over ${mostCharacters} characters`)
  return parsed.data as Execution
}

function isJsonList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}
