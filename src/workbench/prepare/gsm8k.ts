import { type Family, textOf, Unusable } from './family.ts'

const mark = '####'
const request = 'Think step by step, and write the final number behind "####" on a line of its own.'

/** Grade-school problems as they are published: a question, and a worked answer that ends with `#### <number>`. */
export const gsm8k: Family = {
  name: 'gsm8k',
  source: '{"question", "answer"}, the answer ending with "#### <number>"',
  ability: 'math',
  steps: [{ name: 'rule', function: 'gsm8k-progressive' }],
  columns: { groundTruth: 'VARCHAR', extraInfo: { question: 'VARCHAR' } },
  rmPrompts: 0,
  read(row, { dataSource = 'openai/gsm8k' }) {
    const question = textOf(row, 'question')
    const answer = textOf(row, 'answer')
    const at = answer.lastIndexOf(mark)
    if (at === -1) throw new Unusable(`answer has no ${mark}`)
    const truth = answer
      .slice(at + mark.length)
      .trim()
      .replaceAll(',', '')
    if (truth === '') throw new Unusable(`nothing stands behind ${mark}`)
    const number = Number(truth)
    return {
      dataSource,
      prompt: [{ role: 'user', content: `${question} ${request}` }],
      groundTruth: truth,
      extraInfo: { question },
      gold: answer,
      nearMiss: Number.isFinite(number) ? `${answer.slice(0, at)}${mark} ${number + 1}` : null,
    }
  },
}
