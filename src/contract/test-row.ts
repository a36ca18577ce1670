import type { Json } from '../core/sample/json.ts'
import type { Sample } from '../core/sample/sample.ts'
import { messagesWithoutText } from './messages-as-text.ts'
import type { Earlier, Row } from './row.ts'

/** What a test says of a row; the rest is empty. */
export interface RowParts extends Partial<Omit<Sample, 'prompt'>> {
  readonly prompt?: Sample['prompt']
  /** As a step's `options` in an rm-config. */
  readonly options?: Json
  readonly earlier?: Readonly<Record<string, Earlier>>
}

/** A frozen row as a worker would build it; throws where the function refuses the ground truth or the options. */
export function row<T, O>(
  fn: {
    options: { parse(value: unknown): O }
    truth(options: O): { parse(value: unknown): T }
  },
  { options: given = {}, earlier = {}, ...sample }: RowParts = {},
): Row<T, O> {
  const options = fn.options.parse(given)
  const filled: Sample = {
    id: 'test',
    prompt: '',
    response: '',
    groundTruth: null,
    rmPrompts: {},
    extraInfo: {},
    ...sample,
  }
  const { prompt } = filled
  const asked = typeof prompt === 'string' ? prompt : messagesWithoutText(prompt)
  return freeze({
    sample: { ...filled, prompt: asked },
    truth: fn.truth(options).parse(filled.groundTruth),
    options,
    earlier,
  })
}

function freeze<V>(value: V): V {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  return value
}
