import type { Json } from '../../core/sample/sample.ts'
import { type Fields, isObject } from '../dataset/row.ts'
import { type Family, messagesOf, type ParsedRow, textOf, Unusable } from './family.ts'

/** The reward of a right, well-formed answer by reward type. */
const fullMarks: ReadonlyMap<string, number> = new Map([
  ['binary', 1],
  ['binary_format', 1.5],
  ['binary_format_repeat', 1.5],
  ['ratio_quality_format_repeat', 1.5],
  ['complicated', 3],
])

/** Graph problems, as verl rows whose data_source gets a reward type as suffix, or as flat objects. */
export const npgMuse: Family = {
  name: 'npg-muse',
  source:
    '{"data_source": "MCP_easy", "prompt", "extra_info": {"graph", "problem_text", "exact_answer"}}, or {"task", "difficulty", "problem_text", "graph", "exact_answer"}; "solution" may hold a best answer',
  ability: 'graph',
  steps: [{ name: 'graph', function: 'npg-muse' }],
  columns: {
    groundTruth: 'VARCHAR',
    extraInfo: { graph: 'VARCHAR', problem_text: 'VARCHAR', exact_answer: 'DOUBLE' },
  },
  rmPrompts: 0,
  read(row, { dataSource, rewardType = 'ratio_quality_format_repeat' }) {
    const source = dataSource ?? sourceOf(row)
    const { name, marks } = withType(source, rewardType)
    const problem = isObject(row.extra_info) ? row.extra_info : row
    const text = problem.problem_text ?? (typeof row.prompt === 'string' ? row.prompt : undefined)
    if (typeof text !== 'string') throw new Unusable('problem_text is missing')
    if (problem.graph === undefined || problem.graph === null) throw new Unusable('graph is missing')
    return {
      dataSource: name,
      prompt: messagesOf(row.prompt ?? text, 'prompt'),
      groundTruth: '',
      extraInfo: {
        graph: typeof problem.graph === 'string' ? problem.graph : JSON.stringify(problem.graph),
        problem_text: text,
        exact_answer: numberOf(problem.exact_answer),
      },
      ...answersOf(row.solution ?? problem.solution),
      fullMarks: marks,
    }
  },
}

function sourceOf(row: Fields): string {
  if (typeof row.data_source === 'string') return row.data_source
  const task = textOf(row, 'task')
  return typeof row.difficulty === 'string' ? `${task}_${row.difficulty}` : task
}

/** Appends the reward type unless the source already has one. */
function withType(source: string, rewardType: string): { readonly name: string; readonly marks: number } {
  const words = source.split('_').slice(1)
  const own = words.slice(words[0] === 'easy' || words[0] === 'hard' ? 1 : 0).join('_')
  const marks = fullMarks.get(own === '' ? rewardType : own)
  if (marks === undefined) throw new Unusable(`${own || rewardType} is not a reward type`)
  return { name: own === '' ? `${source}_${rewardType}` : source, marks }
}

function numberOf(label: unknown): Json {
  const number = typeof label === 'string' && label.trim() !== '' ? Number(label) : label
  if (typeof number === 'number' && Number.isFinite(number)) return number
  throw new Unusable('exact_answer is not a number')
}

/** A solution is a list of names or ids, a list of two such lists, or a text that contains them. */
function answersOf(solution: unknown): Pick<ParsedRow, 'gold' | 'nearMiss'> {
  if (solution === undefined || solution === null) return { gold: null, nearMiss: null }
  if (typeof solution === 'string') return { gold: thought(solution), nearMiss: null }
  if (!Array.isArray(solution)) throw new Unusable('solution is neither a list nor a text')
  const lists: readonly (readonly unknown[])[] = solution.every(Array.isArray) ? solution : [solution]
  const short = lists.map((list, at) => (at === lists.length - 1 ? list.slice(0, -1) : list))
  return { gold: thought(listsText(lists)), nearMiss: thought(listsText(short)) }
}

const listsText = (lists: readonly (readonly unknown[])[]): string =>
  lists.map((list) => `[${list.join(', ')}]`).join(' ')

const thought = (answer: string): string =>
  answer.startsWith('<think>') ? answer : `<think>\nI check the graph step by step.\n</think>\n\n${answer}`
