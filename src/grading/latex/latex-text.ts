const wrapper = /\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|operatorname)\s?(?=\{)/g
const spacing = /\\(?:left|right|[,;!])/g
const braces = /\\?[{}]/g
const escaped = /\\([_&%#$[\]()])/g

/** Words inside a box without their LaTeX: `\text{Rule\_Learning}` is `Rule_Learning`. Linear. */
export function latexText(content: string): string {
  const plain = content.replace(wrapper, '').replace(spacing, '').replace(braces, '')
  return plain.replace(escaped, '$1').trim()
}
