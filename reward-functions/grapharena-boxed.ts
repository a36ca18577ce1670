import { z } from 'zod'
import { defineRule, mode, RuleTimeout } from '../src/contract/index.ts'
import { arenaMarks, arenaParts, strictArenaMarks } from '../src/grading/graph/arena.ts'
import { strictBoxedListText } from '../src/grading/graph/committed.ts'
import { findingDetails, graphArena, strict } from '../src/grading/graph/finding.ts'
import { checkGraphAnswer, taskNamed } from '../src/grading/graph/tasks.ts'
import { boxedListText } from '../src/grading/graph/wiz.ts'
import { promptText } from '../src/grading/index.ts'

/**
 * GraphArena with the answer in the last box or after the last `###`, read as the G1 harness reads it. Pays
 * 1 for the right list, else 0. `data_source` starts with the task; `extra_info` holds `graph`, `ends` (two
 * node ids) and `exact_answer`.
 *
 * A problem that cannot be read, or without a numeric `exact_answer`, pays 0 with the flag `bad_problem`.
 * Invalid: an unknown task, and a check over its budget (`rule_timeout`). In `published` mode also a problem
 * that cannot be read.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    mode,
    /** `box`: the answer is in the last box. `hashes`: it follows the last `###`. */
    after: z.enum(['box', 'hashes']).default('box'),
  }),
  range: [0, 1],
  parts: arenaParts,
  score({ sample: { prompt, response, dataSource = '', extraInfo }, options: { mode, after } }) {
    const task = taskNamed(dataSource)
    const { graph = {}, ends, exact_answer: label } = extraInfo
    const asksForList = promptText(prompt).includes('[')
    const text = (mode === 'strict' ? strictBoxedListText : boxedListText)(response, after, asksForList)
    const problem = { graph, ends, problemText: undefined, given: 'graph' } as const
    const finding = checkGraphAnswer(task, problem, text, mode === 'strict' ? strict : graphArena)
    if (finding.status === 'budget_spent') throw new RuleTimeout(finding.reason)
    const marks = (mode === 'strict' ? strictArenaMarks : arenaMarks)(task, finding, label)
    const details = { ...findingDetails(finding), extracted: text.slice(0, 500) }
    return { value: Number(marks.isAccurate), parts: marks.parts, details, flags: marks.flags }
  },
})
