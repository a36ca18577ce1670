import { z } from 'zod'
import { defineRule, mode, RuleTimeout } from '../src/contract/index.ts'
import { arenaMarks, arenaParts, strictArenaMarks } from '../src/grading/graph/arena.ts'
import { findingDetails, graphArena, strict } from '../src/grading/graph/finding.ts'
import { taskNamed } from '../src/grading/graph/tasks.ts'
import { boxedListText, strictBoxedListText } from '../src/grading/graph/wiz.ts'
import { promptText } from '../src/grading/index.ts'

/**
 * GraphArena with the answer in a box (`after: hashes`: after the last `###`), read as the G1 harness reads
 * it.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    mode,
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
    const finding = task.check(problem, text, mode === 'strict' ? strict : graphArena)
    if (finding.status === 'budget_spent') throw new RuleTimeout(finding.reason)
    const marks = (mode === 'strict' ? strictArenaMarks : arenaMarks)(task, finding, label)
    const details = { ...findingDetails(finding), extracted: text.slice(0, 500) }
    return { value: Number(marks.isAccurate), parts: marks.parts, details, flags: marks.flags }
  },
})
