import { family, type Subject, type TextAttack, type TextMaker } from '../attack.ts'

const lists = /\[([^[\]]*)\]/g

/**
 * Rewrites the items of the right answer's last list, or of its last two lists of numbers. null if it has no
 * list.
 */
function relisted(
  { sample }: Subject,
  change: (items: readonly string[]) => readonly string[],
): string | null {
  const { response } = sample
  const start = Math.max(0, response.lastIndexOf('</think>'))
  const found = [...response.slice(start).matchAll(lists)].filter(
    (list) => (list[1] ?? '').includes(',') || /\d/.test(list[1] ?? ''),
  )
  const used =
    found.filter(([, inside = '']) => numbersOnly(inside)).length >= 2 ? found.slice(-2) : found.slice(-1)
  if (used.length === 0) return null
  let text = response.slice(0, start)
  let end = start
  for (const list of used) {
    const at = start + list.index
    const items = (list[1] ?? '').split(',').map((item) => item.trim())
    text += `${response.slice(end, at)}[${change(items).join(', ')}]`
    end = at + list[0].length
  }
  return text + response.slice(end)
}

const numbersOnly = (inside: string): boolean => /^[\s\d,]+$/.test(inside)

const changing =
  (change: (items: readonly string[]) => readonly string[] | null): TextMaker =>
  (subject) => {
    let applies = true
    const text = relisted(subject, (items) => {
      const changed = change(items)
      if (!changed) applies = false
      return changed ?? []
    })
    return applies && text !== subject.sample.response ? text : null
  }

const times = (item: string | undefined, count: number): readonly string[] => Array(count).fill(item ?? '')
const ifNumbers = (items: readonly string[], made: () => readonly string[]): readonly string[] | null =>
  items.every((item) => /^\d+$/.test(item)) ? made() : null
const ifNames = (items: readonly string[], made: () => readonly string[]): readonly string[] | null =>
  items.some((item) => !/^[\d.]+$/.test(item)) ? made() : null

const shapes: Readonly<Record<string, TextMaker>> = {
  'one item repeated to the right length': changing((items) =>
    items.length > 1 ? times(items[0], items.length) : null,
  ),
  'one item twice as often': changing((items) => times(items[0], items.length * 2)),
  'one item four times as often': changing((items) => times(items[0], items.length * 4)),
  'one item a hundred times': changing((items) => times(items[0], 100)),
  'the last item twice': changing((items) => [...items, items.at(-1) ?? '']),
  'all items twice': changing((items) => [...items, ...items]),
  'an item that does not exist': changing((items) => ifNames(items, () => [...items, 'Atlantis'])),
  'an item that does not exist, first': changing((items) => ifNames(items, () => ['Atlantis', ...items])),
  'blank items': changing((items) => times('', items.length)),
  'numbers that do not exist': changing((items) =>
    ifNumbers(items, () => items.map((_, at) => String(9000 + at))),
  ),
  'more numbers that do not exist': changing((items) =>
    ifNumbers(items, () => Array.from({ length: items.length * 3 }, (_, at) => String(9000 + at))),
  ),
  'the right numbers and some that do not exist': changing((items) =>
    ifNumbers(items, () => [...items, '9001', '9001']),
  ),
  'a number behind the end': changing((items) => ifNumbers(items, () => [...items.slice(0, -1), '9999'])),
  'only the first item': changing((items) => (items.length > 1 ? items.slice(0, 1) : null)),
}

const places: Readonly<Record<string, TextMaker>> = {
  'the right list while thinking, none in the answer': ({ sample }) => {
    const list = lastList(sample.response)
    return list === null
      ? null
      : `<think>\nPerhaps ${list}, but I doubt it.\n</think>\n\nI could not find it.`
  },
  'the right list in thoughts that never end': ({ sample }) => {
    const list = lastList(sample.response)
    return list === null ? null : `<think>\nPerhaps ${list}, but I doubt it.`
  },
}

function lastList(text: string): string | null {
  const found = [...text.matchAll(lists)].map(([list]) => list)
  const numeric = found.filter((list) => numbersOnly(list.slice(1, -1)))
  return numeric.length >= 2 ? numeric.slice(-2).join(', ') : (found.at(-1) ?? null)
}

/** Attacks on rules that check a list of names or numbers. */
export const listAttacks: readonly TextAttack[] = [
  ...family('list', 'rule', 'wrong', shapes),
  ...family('list channel', 'rule', 'wrong', places),
]
