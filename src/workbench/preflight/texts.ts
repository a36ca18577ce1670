import { promptText } from '../../core/sample/sample.ts'
import type { Findings } from './finding.ts'
import { type Item, turnsOf } from './item.ts'
import { garbledPiece } from './readable.ts'

const roles: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

/** Whether a row's prompt says something, in the form of a conversation, and its texts are readable. */
export function lookAtTexts(item: Item, findings: Findings): void {
  const { place, row, gold, sample } = item
  const turns = turnsOf(item)
  const said = turns.filter(({ role, content }) => role !== 'system' && content.trim() !== '')
  const hasPrompt = (row.prompt ?? row.input) !== undefined
  if (said.length === 0 && hasPrompt) findings.add('empty-prompt', 'the prompt says nothing', place)
  const unknown = turns.find(({ role }) => !roles.has(role))
  if (unknown) findings.add('chat-form', `the prompt has a turn of '${unknown.role.slice(0, 40)}'`, place)
  if (said.length > 0 && turns.at(-1)?.role === 'assistant')
    findings.add('chat-form', 'the prompt ends with a turn of the assistant', place)
  const texts = [
    ['the prompt', promptText(turns)],
    ['the ground truth', typeof sample.groundTruth === 'string' ? sample.groundTruth : ''],
    ['the right answer', gold ?? ''],
    ['a judge prompt', [sample.rmPrompt ?? '', ...Object.values(sample.rmPrompts)].join('\n')],
  ] as const
  for (const [name, text] of texts) {
    const piece = garbledPiece(text)
    if (piece !== null) findings.add('garbled-text', `${name} holds ${piece}`, place)
  }
}
