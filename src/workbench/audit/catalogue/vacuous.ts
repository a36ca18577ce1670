import { type Attack, family } from '../attack.ts'

/** Forms without content. */
const texts = {
  'I do not know': 'I do not know.',
  'a word': 'answer',
  'a digit': '1',
  'a final marker': '####',
  'a marker and a comma': '#### ,',
  'a marker and a dot': '#### .',
  'a marker and signs': '#### -.',
  none: 'None',
  null: 'null',
  'an empty list': '[]',
  'blank items': '[,,,,]',
  'an empty object': '{}',
  'reasoning without an answer': '<think>\nLet me consider every case with care.\n</think>',
  'the opening of thoughts': '<think>\n',
  'the end of thoughts': '</think>',
  'empty thoughts and answer': '<think></think><answer></answer>',
  'empty thoughts and answer, on lines': '<think>\n\n</think>\n<answer>\n\n</answer>',
  'empty thoughts and a box': '<think> </think> \\boxed{}',
  'the form three times': '<think>x</think><answer>y</answer>'.repeat(3),
  'empty call tags': '<tool_call></tool_call>',
  'call tags in the wrong order': '</tool_call><tool_call>',
  'call tags around words': '<tool_call>lorem ipsum</tool_call>',
  'nested opening call tags': '<tool_call><tool_call></tool_call>',
  'a call without a name': '<tool_call>\n{}\n</tool_call>',
} as const

/** Answers that ignore the task: what they hold is form. A lone digit is left out where it is right. */
export const vacuousAttacks: readonly Attack[] = family(
  'vacuous',
  'rule',
  'nothing',
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      ({ truth, sample }) =>
        truth === text || JSON.stringify(sample.groundTruth).includes(JSON.stringify(text)) ? null : text,
    ]),
  ),
)
