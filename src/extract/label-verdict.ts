import { afterThink } from './think.ts'
import { trimSpace } from './white-space.ts'

const around = /^["'`*_“”‘’[\]\s]*|["'`*_“”‘’[\].\s]*$/g

/** The one of `labels` that a judge's reply is, after its thinking: alone on the first line, but for emphasis; null: no verdict. */
export function labelVerdict<L extends string>(text: string, labels: readonly L[]): L | null {
  const region = afterThink(text)
  if (region === null) return null
  const line = /^[^\n]{0,64}/.exec(trimSpace(region))?.[0] ?? ''
  const said = line.replace(around, '')
  return labels.find((label) => label === said) ?? null
}
