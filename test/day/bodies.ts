import { dataUrl, imagePart, paddedPng } from '../support/images.ts'
import type { Row } from './load.ts'
import { attemptMark, taskMark } from './verdicts.ts'

const charactersPerToken = 4
const imageBytes = 300 * 1024
const turnsOfAgent = 8

const sentence = 'We add the apples of one day to those of the other day, and then we count them all again. '
const paragraph = `${sentence.repeat(22)}\n\n`
/** As long as the longest response. */
const prose = paragraph.repeat(Math.ceil(520_000 / paragraph.length))

/** The picture of a prompt as a data URL; '' where it has none. */
export const pictureOf = ({ kind, salt }: Row): string =>
  kind === 'image' ? dataUrl(paddedPng(448, 448, imageBytes, salt % 251)) : ''

/** The request of a rollout, as a trainer writes it that sends each when it is done. `isHalf`: as far as it was when it was stopped. */
export function bodyOf(row: Row, isHalf = false): string {
  const { id, kind, group, tokens } = row
  const length = Math.round(tokens * charactersPerToken * (isHalf ? 0.5 : 1))
  const isCut = isHalf || row.isTruncated
  const status = isHalf ? 'aborted' : row.isTruncated ? 'truncated' : 'completed'
  const sample = {
    id,
    prompt: promptOf(row),
    response: kind === 'agent' ? turnsOf(row, length, isCut) : textOf(row, length, isCut),
    ...truthIn(row),
    group_id: group,
    status,
    tokens: { response: Math.round(length / charactersPerToken) },
    policy_version: 1,
  }
  return JSON.stringify({ reward: kind, run: kind === 'burst' ? 'run-b' : 'run-a', samples: [sample] })
}

function promptOf(row: Row): readonly object[] {
  const text = `${taskMark(row.task)}. ${asking[row.kind]}`
  const url = pictureOf(row)
  const content = url === '' ? text : [imagePart(url), { type: 'text', text }]
  return [{ role: 'user', content }]
}

const asking: Readonly<Record<Row['kind'], string>> = {
  math: 'How many apples are there? Put the number into a box.',
  'math-steps': 'How many apples are there? Show each step, and put the number into a box.',
  code: 'Read a whole number from standard input and print its double. Answer with a program in Python.',
  open: 'Write about apples for somebody who has never seen one.',
  agent: 'How warm is it in the city? Use the tool.',
  image: 'How many apples does the picture show?',
  burst: 'How many pears are there?',
}

const right = 46
const numberOf = ({ isRight }: Row): number => (isRight ? right : right + 1)

function truthIn({ kind }: Row): object {
  if (kind === 'code') return { ground_truth: { inputs: ['3\n', '21\n'], outputs: ['6\n', '42\n'] } }
  return kind === 'open' || kind === 'agent' ? {} : { ground_truth: String(right) }
}

/** Thinking that fills the length, then the answer; without an answer where it was cut off. */
function textOf(row: Row, length: number, isCut: boolean): string {
  const begins = `<think>\n${attemptMark(row.attempt)} begins. `
  const ends = isCut ? '' : `\n</think>\n\n${answerOf(row)}`
  return begins + prose.slice(0, Math.max(0, length - begins.length - ends.length)) + ends
}

function answerOf(row: Row): string {
  const mark = attemptMark(row.attempt)
  switch (row.kind) {
    case 'code':
      return `${mark}.\n\n\`\`\`python\nprint(int(input()) * ${row.isRight ? 2 : 3})\n\`\`\``
    case 'open':
      // A rule about form: what is wrong here thinks twice.
      return row.isRight
        ? `${mark}. An apple is round and sweet.`
        : `<think>Once more.</think> ${mark}. An apple is round and sweet.`
    case 'image':
    case 'burst':
      return `${mark}.\n#### ${numberOf(row)}`
    default:
      return `${mark}. There are \\boxed{${numberOf(row)}}.`
  }
}

/** Turns that call a tool, each with its thinking and a result, and an answer. */
function turnsOf(row: Row, length: number, isCut: boolean): readonly object[] {
  const share = Math.floor(length / turnsOfAgent)
  const calls = Array.from({ length: turnsOfAgent - 1 }, (_, turn) => {
    const id = `call-${turn}`
    // A wrong one calls what it was not given.
    const name = !row.isRight && turn === 3 ? 'browser' : 'weather'
    const given = JSON.stringify({ city: 'Bonn', day: turn })
    return [
      {
        role: 'assistant',
        content: null,
        reasoning_content: prose.slice(0, share >> 1),
        tool_calls: [{ id, type: 'function', function: { name, arguments: given } }],
      },
      { role: 'tool', tool_call_id: id, content: prose.slice(0, share >> 1) },
    ]
  }).flat()
  const last = {
    role: 'assistant',
    content: `${attemptMark(row.attempt)}. It is warm in the city.`,
    reasoning_content: prose.slice(0, share),
  }
  return isCut ? calls : [...calls, last]
}
