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
