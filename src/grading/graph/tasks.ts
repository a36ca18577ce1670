import { afterThink } from '../think.ts'
import { clique } from './clique.ts'
import { checkCommonSubgraph } from './common-subgraph.ts'
import { connected } from './connected.ts'
import { diameter } from './diameter.ts'
import { distance } from './distance.ts'
import { checkEditDistance } from './edit-distance.ts'
import type { Faults } from './faults.ts'
import type { Finding } from './finding.ts'
import { independentSet } from './independent-set.ts'
import { checkNamed, type NamedTask } from './named-task.ts'
import { neighbor } from './neighbor.ts'
import type { Problem } from './problem.ts'
import { checkTour } from './tour.ts'
import { vertexCover } from './vertex-cover.ts'

/** One kind of graph problem. */
export interface GraphTask {
  readonly better: 'smaller' | 'larger'
  /** Where the share of the best value is squared before it is paid, if a payment does so. */
  readonly squared?: boolean
  /** Some of its labels are approximate: a better value is no mistake. */
  readonly approximate?: boolean
  check(problem: Problem, text: string, faults: Faults): Finding
}

const named = (task: NamedTask, better: GraphTask['better'], approximate = false): GraphTask => ({
  better,
  approximate,
  check: (problem, text, faults) => checkNamed(task, problem, text, faults),
})

/** The tasks by the name that they have in data sets. */
export const graphTasks: ReadonlyMap<string, GraphTask> = new Map([
  ['Connected', named(connected, 'larger')],
  ['Diameter', named(diameter, 'larger')],
  ['Distance', named(distance, 'smaller')],
  ['GED', { better: 'smaller', approximate: true, check: checkEditDistance }],
  ['MCP', named(clique, 'larger', true)],
  ['MCS', { better: 'larger', approximate: true, check: checkCommonSubgraph }],
  ['MIS', named(independentSet, 'larger')],
  ['MVC', named(vertexCover, 'smaller', true)],
  ['Neighbor', named(neighbor, 'larger')],
  ['TSP', { better: 'smaller', squared: true, approximate: true, check: checkTour }],
])

/** The task that opens a data source, as in `MCP_easy_binary`; throws where none does. */
export function taskNamed(dataSource: string): GraphTask {
  const task = graphTasks.get(dataSource.split('_', 1)[0] ?? '')
  if (!task) throw new Error(`data_source must begin with one of ${[...graphTasks.keys()].join(', ')}`)
  return task
}

/** Grades an answer to one problem; searches the whole response only where that is the grader's fault. */
export function checkGraphAnswer(
  task: GraphTask,
  problem: Problem,
  response: string,
  faults: Faults,
): Finding {
  return task.check(problem, faults.thinkingIsSearched ? response : (afterThink(response) ?? ''), faults)
}
