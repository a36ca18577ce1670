import type { RowDetail } from '../../telemetry/live/row-detail.ts'

/** What stands in the playground's form; it outlives a look at another view. */
interface Draft {
  reward: string
  prompt: string
  response: string
  truth: string
  dataSource: string
  extra: string
}

/** Changed in place. */
export const draft: Draft = { reward: '', prompt: '', response: '', truth: '', dataSource: '', extra: '' }

/** A word problem with a right answer, for rewards that know none better. */
export const example: Omit<Draft, 'reward'> = {
  prompt: 'A baker makes 4 trays of 12 rolls and sells 9 rolls before noon. How many rolls are left?',
  response: 'The baker makes 4 * 12 = 48 rolls.\nAfter the morning 48 - 9 = 39 are left.\n#### 39',
  truth: '39',
  dataSource: '',
  extra: '',
}

/** Puts a sample that was scored into the form. */
export function takeUp({ sample, config }: RowDetail): void {
  const { ground_truth: truth } = sample
  Object.assign(draft, {
    reward: config.reward,
    prompt: String(sample.prompt),
    response: String(sample.response),
    truth: typeof truth === 'string' ? truth : truth === null ? '' : JSON.stringify(truth),
    dataSource: sample.data_source ?? '',
    extra: '',
  })
}

/** The sample that a draft says. Throws SyntaxError where extra_info is no JSON. */
export function sampleOf({ prompt, response, truth, dataSource, extra }: Draft): object {
  return {
    prompt: conversationOf(prompt),
    response,
    ...(truth !== '' && { ground_truth: truthOf(truth) }),
    ...(dataSource !== '' && { data_source: dataSource }),
    ...(extra.trim() !== '' && { extra_info: JSON.parse(extra) }),
  }
}

/** Lists and objects as JSON; everything else is text, numbers too: rules read `39` and `"39"` alike. */
function truthOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A prompt that is a conversation as JSON, as a trainer sends it. */
function conversationOf(text: string): unknown {
  if (!text.startsWith('[{')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
