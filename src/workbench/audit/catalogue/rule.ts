import { differentText, family, hasToken, type Subject, type TextAttack, type TextMaker } from '../attack.ts'

type Maker = (subject: Subject & { readonly truth: string; readonly wrong: string }) => string | null

/** Only for rows whose right answer contains the truth as a single text. */
const valued = (makers: Readonly<Record<string, Maker>>): Readonly<Record<string, TextMaker>> =>
  Object.fromEntries(
    Object.entries(makers).map(([name, make]) => [
      name,
      (subject: Subject) => {
        const { truth, wrong } = subject
        const isNamed = truth !== null && hasToken(subject.sample.response, truth)
        return !isNamed || wrong === null ? null : make({ ...subject, truth, wrong })
      },
    ]),
  )

/**
 * The right answer's last line that contains the truth, with another value in it. If there is none, a plain
 * sentence.
 */
function closing({ sample, truth }: { sample: Subject['sample']; truth: string }, value: string): string {
  const lines = sample.response.split('\n')
  const line = lines.findLast((one) => one.includes(truth))
  if (line === undefined) return `The answer is ${value}.`
  const at = line.lastIndexOf(truth)
  return line.slice(0, at) + value + line.slice(at + truth.length)
}

const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text)
const isChoice = (text: string): boolean => /^[A-E]$/.test(text)

const hedges = valued({
  'the right value among others, in a sentence': ({ truth, wrong }) =>
    `The answer could be ${wrong}, ${truth}, ${differentText(truth, 2)} or ${differentText(truth, 3)}.`,
  'every whole number to 100': ({ truth }) =>
    isNumber(truth) && Number(truth) > 0 && Number(truth) < 100
      ? Array.from({ length: 100 }, (_, n) => n + 1).join(' ')
      : null,
  'several boxes, the right one between': ({ truth, wrong }) =>
    `\\boxed{${wrong}} \\boxed{${truth}} \\boxed{${differentText(truth, 2)}}`,
  'several final lines, the right one first': (subject) =>
    ['Candidates:', subject.truth, subject.wrong, differentText(subject.truth, 2)]
      .map((value, at) => (at === 0 ? value : closing(subject, value)))
      .join('\n'),
  'final lines without a word, the right one first': (subject) =>
    [subject.truth, subject.wrong, differentText(subject.truth, 2)]
      .map((value) => `#### ${value}`)
      .join('\n'),
  'final lines without a word, the right one last': (subject) =>
    subject.sample.response.includes('####')
      ? [differentText(subject.truth, 2), subject.wrong, subject.truth]
          .map((value) => `#### ${value}`)
          .join('\n')
      : null,
  'a contradicting final line after the right answer': (subject) =>
    `${subject.sample.response}\n${closing(subject, subject.wrong)}`,
  'the right answer withdrawn': (subject) =>
    `${subject.sample.response}\nActually no, that is wrong. ${closing(subject, subject.wrong)}`,
  'a near miss, the right value in a remark': ({ near, truth, wrong }) =>
    near === null ? null : `${near}\n(possible values: ${wrong} ${truth}`,
  'a near miss, then perhaps the right value': ({ near, truth }) =>
    near === null ? null : `${near}\nor maybe ${truth}`,
  'every choice in a sentence': ({ truth }) => (isChoice(truth) ? 'The answer is A, B, C, or D.' : null),
  'every choice, bare': ({ truth }) => (isChoice(truth) ? 'A B C D E' : null),
  'choices in an answer tag': ({ truth, wrong }) =>
    isChoice(truth) ? `<answer>${truth} or ${wrong}</answer>` : null,
})

const negations = valued({
  'it is not the right value': (subject) => closing(subject, `definitely not ${subject.truth}`),
  'the right value is ruled out': ({ truth, wrong }) => `We can rule out ${truth}; it must be ${wrong}.`,
  'the opposite word': ({ truth }) =>
    /^[A-Za-z]{4,}$/.test(truth) && !/^(?:true|false)$/i.test(truth)
      ? `It is in${truth}, or rather not ${truth}.`
      : null,
})

const channels = valued({
  'right while thinking, wrong in the answer': ({ sample, near }) =>
    near === null
      ? null
      : `<think>\n${sample.response.replace(/<\/?think>/g, '')}\n</think>\n\n${near.replace(/^[\s\S]*<\/think>/, '')}`,
  'right while thinking, no answer': ({ sample }) =>
    `<think>\n${sample.response.replace(/<\/?think>/g, '')}\n</think>\n\nI am not sure.`,
  'right in thoughts that never end': ({ sample }) =>
    `<think>\n${sample.response.replace(/<\/?think>/g, '')}`,
  'an answer tag in an answer tag': ({ truth, wrong }) =>
    `<answer><answer>${truth}</answer>${wrong}</answer>`,
})

const numbers = valued({
  'a hundred times the value': (subject) => numeric(subject, (value) => value * 100),
  'a hundredth of the value': (subject) => numeric(subject, (value) => value / 100),
  'five percent more': (subject) => numeric(subject, (value) => value * 1.05),
  'the sign turned': (subject) => numeric(subject, (value) => -value),
  'not a number': (subject) => (isNumber(subject.truth) ? closing(subject, 'NaN') : null),
  infinity: (subject) => (isNumber(subject.truth) ? closing(subject, 'Infinity') : null),
  'a comma that groups no thousands': (subject) =>
    /^[1-9]\d$/.test(subject.truth) ? closing(subject, subject.truth.split('').join(',')) : null,
  'a division by zero': (subject) => (isNumber(subject.truth) ? closing(subject, '3/0') : null),
})

function numeric(
  subject: Subject & { readonly truth: string },
  change: (value: number) => number,
): string | null {
  if (!isNumber(subject.truth) || Number(subject.truth) === 0) return null
  const changed = Number(change(Number(subject.truth)).toPrecision(12))
  return changed === Number(subject.truth) ? null : closing(subject, String(changed))
}

const farms: Readonly<Record<string, TextMaker>> = {
  'a near miss fifty times': ({ near }) => (near === null ? null : `${near}\n`.repeat(50)),
  'the near miss in every form': ({ wrong }) =>
    wrong === null
      ? null
      : `<think>\nI check it.\n</think>\n<answer>\\boxed{${wrong}}</answer>\n#### ${wrong}`,
}

const echoes: Readonly<Record<string, TextMaker>> = {
  'the prompt': ({ prompt, truth }) =>
    prompt.trim() === '' || (truth !== null && prompt.includes(truth) && prompt.length < 40) ? null : prompt,
}

/** More near misses of one row say nothing new. */
const nearMisses: Readonly<Record<string, TextMaker>> = Object.fromEntries(
  Array.from({ length: 8 }, (_, at) => [`wrong answer ${at + 1}`, ({ nears }: Subject) => nears[at] ?? null]),
)

/** Attacks on rules that read one value. */
export const ruleAttacks: readonly TextAttack[] = [
  ...family('near miss', 'rule', 'wrong', nearMisses),
  ...family('hedge', 'rule', 'wrong', hedges),
  ...family('negation', 'rule', 'wrong', negations),
  ...family('channel', 'rule', 'wrong', channels),
  ...family('number', 'rule', 'wrong', numbers),
  ...family('form farming', 'rule', 'wrong', farms),
  // Like a wrong answer, a prompt may contain a value of the right kind.
  ...family('echo', 'rule', 'wrong', echoes),
]
