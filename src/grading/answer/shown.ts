const answerMark = /#{4,}[ \t]*\S|\\boxed\s*\{|<\/answer>|\bfinal answer is\b/i
const nextTurn =
  /\n[ \t]*(?:#{1,3}[ \t]*)?(?:Question|Q|Problem|Human|User|Instruction)[ \t]*\d{0,3}[ \t]*:[ \t]*\S/

/** A token that ends a turn, or the words with which a chat template begins another one. */
const turnEnd =
  /<(?:[|｜](?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|start_header_id|user|assistant|end▁of▁sentence|User|Assistant)[|｜]|\/s|end_of_turn|start_of_turn)>|\[\/?INST\]/
const turnStart = /^\s*(?:<[|｜]\w+[|｜]>|<start_of_turn>)(?:assistant|model)?(?:<[|｜]\w+[|｜]>)?/

/**
 * A text up to the end of its turn: a token that ends one, or the next question if an answer is marked before it. Base
 * models go on with questions and answers of their own. Linear.
 */
export function firstTurn(text: string): string {
  const from = turnStart.exec(text)?.[0].length ?? 0
  const end = text.slice(from).search(turnEnd)
  const turn = end < 0 ? text : text.slice(0, from + end)
  const marked = turn.search(answerMark)
  const next = marked < 0 ? -1 : turn.slice(marked).search(nextTurn)
  return next < 0 ? turn : turn.slice(0, marked + next)
}

const comments: readonly (readonly [string, string])[] = [
  ['<!--', '-->'],
  ['\\begin{comment}', '\\end{comment}'],
  ['\\iffalse', '\\fi'],
  ['[//]:', '\n'],
  ['[comment]:', '\n'],
]

/** A text without the comments of HTML, LaTeX and Markdown, which a reader does not see. Linear. */
export function withoutComments(text: string): string {
  return comments.reduce((kept, [open, close]) => without(kept, open, close), text)
}

function without(text: string, opening: string, closing: string): string {
  let kept = ''
  let at = 0
  for (let open = text.indexOf(opening); open >= 0; open = text.indexOf(opening, at)) {
    const end = text.indexOf(closing, open + opening.length)
    if (end < 0 && closing !== '\n') break
    kept += `${text.slice(at, open)} `
    at = end < 0 ? text.length : end + (closing === '\n' ? 0 : closing.length)
  }
  return at === 0 ? text : kept + text.slice(at)
}

/** Commands that strike or hide their argument, and colours that do not show on paper. */
const hiding =
  /\\(?:[hv]?phantom|smash|[bx]?cancel|cancelto\s*\{[^{}]{0,40}\}|sout|xout|st|strike|not|rlap|llap|(?:text)?color\s*\{\s*(?:white|transparent|yellow)\s*\})[\s{$([*`"']*(?:\\[([]\s*)?$/
const striking = /<(del|s|strike)>/gi
const unseen = /<(\w+)\b[^<>]{0,200}(?:display\s*:\s*none|visibility\s*:\s*hidden|\bhidden\b)[^<>]{0,200}>/gi
const reach = 400

/**
 * Whether marks around the part of a text from `start` to `end` strike it or keep it from showing: `\phantom{42}`,
 * `~~42~~`, `<del>`, a comment of LaTeX. Constant time.
 */
export function isHidden(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - reach), start)
  if (hiding.test(before.slice(-80))) return true
  const line = before.slice(before.lastIndexOf('\n') + 1)
  if (/^\s*%(?!\d)/.test(line)) return true
  const [rest = ''] = text.slice(end, end + reach).split('\n', 1)
  if (line.split('~~').length % 2 === 0 && rest.includes('~~')) return true
  if (before.lastIndexOf('\\iffalse') > before.lastIndexOf('\\fi ')) return true
  return [striking, unseen].some((opening) =>
    Array.from(before.matchAll(opening)).some(
      ({ index, 1: tag = '' }) => !before.slice(index).toLowerCase().includes(`</${tag.toLowerCase()}>`),
    ),
  )
}
