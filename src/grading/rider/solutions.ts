import { isObject } from '../json/identity.ts'
import { readJson } from '../json/json.ts'

const none = '无'
const separator = '；'
const openEnd = '……'
/** Solutions that carry an amount or an object after their name. */
const payment = '执行补款'
const followUps = ['跟进返餐', '跟进系统补款']

/** What a delivery-support agent can do, one JSON text `{"name", "describe"}` a solution. */
export const riderSolutions: readonly string[] = [
  ['外呼商家-骑手是否返餐', '联系商家，确认骑手是否已把餐品送回'],
  ['外呼商家-骑手申诉原因是否属实', '联系商家，确认骑手的申诉理由是否成立'],
  ['外呼商家-是否营业', '联系商家，确认当时是否营业'],
  ['外呼用户-是否收到餐品', '联系用户，确认餐品是否送达'],
  ['外呼用户-是否需要配送', '联系用户，确认是否仍需配送'],
  ['外呼用户-是否拒收', '联系用户，确认是否拒绝收餐'],
  ['外呼下单人-是否需要配送', '联系下单人，确认是否仍需配送'],
  ['申诉通过', '申诉条件满足，予以通过'],
  ['申诉驳回', '申诉条件不满足，不予通过'],
  ['执行补款', '向骑手补款，名称后写金额，如“执行补款-5元”'],
  ['跟进二次申诉结果', '等待第二次申诉的结论'],
  ['跟进返餐', '仅差返餐一步，跟进到餐品送回'],
  ['跟进系统补款', '条件已满足，跟进到系统完成补款'],
  ['稍后外呼……', '暂不联系，稍后再打给商家、用户或下单人'],
].map(([name, describe]) => JSON.stringify({ name, describe }))

/** The catalogue's line for each `；`-separated solution, each followed by a line feed. */
export function solutionMeanings(
  solution: string,
  catalog: readonly string[],
  mode: 'strict' | 'published',
): string {
  const find = mode === 'published' ? publishedLookup : strictLookup(catalog)
  return solution
    .split(separator)
    .map((part) => `${find(part, catalog)}\n`)
    .join('')
}

/** The original takes the first line that holds the solution's text anywhere, so that '' is the first line. */
export function publishedLookup(solution: unknown, catalog: readonly string[]): string {
  if (solution === none || typeof solution !== 'string') return none
  const word = [payment, ...followUps].find((start) => solution.startsWith(start)) ?? solution
  return catalog.find((line) => line.includes(word)) ?? none
}

/** The line whose name is the solution; names that end in `……` match by what precedes it. */
export function strictLookup(catalog: readonly string[]): (solution: unknown) => string {
  const named = catalog.map((line) => [nameOf(line), line] as const)
  return (solution) => {
    if (typeof solution !== 'string') return none
    const paid = solution === payment || solution.startsWith(`${payment}-`) ? payment : null
    const wanted = paid ?? followUps.find((start) => solution.startsWith(start)) ?? solution
    const found = named.find(
      ([name]) =>
        name === wanted || (name?.endsWith(openEnd) && wanted.startsWith(name.slice(0, -openEnd.length))),
    )
    return found?.[1] ?? none
  }
}

function nameOf(line: string): string | null {
  const entry = readJson(line)?.value
  const name = entry !== undefined && isObject(entry) ? entry.get('name') : null
  return typeof name === 'string' ? name : null
}
