/** What a part of a judge's prompt is, by the words of its label. */
export type Role = 'question' | 'answer' | 'reference' | 'other'

const references = /reference|expected|ground.?truth|\bgold|correct (?:answer|solution)|参考|标准答案/iu
const others =
  /question|problem|task|query|问题|题目|answer|response|solution|reply|candidate|completion|submission|assistant|回答|回复/iu
const questions = /question|problem|task|query|问题|题目/iu

/** The role that a label names. */
export function roleOf(label: string): Role {
  if (references.test(label)) return 'reference'
  const word = others.exec(label)?.[0]
  if (word === undefined) return 'other'
  return questions.test(word) ? 'question' : 'answer'
}

/** Which of several candidates a label names: `B` of 'Answer B', `2` of 'Response 2'; '' for none. */
export function candidateOf(label: string): string {
  return /(?:^|[^A-Za-z0-9])([A-Z]|\d{1,3})[^A-Za-z0-9]*$/u.exec(label.slice(-12))?.[1] ?? ''
}

const decoration = /^[\s#*>[(<_-]{0,8}/u

/** A line that opens a part: `Question: ...`, `### Answer`, `[Reference]`, `<answer>`; null for any other. */
export function readLabel(line: string): { readonly label: string; readonly rest: string } | null {
  const start = decoration.exec(line)?.[0].length ?? 0
  const head = line.slice(start, start + 60)
  const colon = /[:：]/u.exec(head)?.index ?? -1
  if (colon > 0) {
    const label = head.slice(0, colon).replace(/[\s*\])>_]+$/u, '')
    if (/[.!?{}"]/u.test(label) || label.split(' ').length > 6 || roleOf(label) === 'other') return null
    return { label, rest: line.slice(start + colon + 1).replace(/^\**\s?/u, '') }
  }
  if (start === 0 || line.length > 60) return null
  const label = head.replace(/[\s*\])>_]+$/u, '')
  return label.split(' ').length <= 4 && roleOf(label) !== 'other' ? { label, rest: '' } : null
}
