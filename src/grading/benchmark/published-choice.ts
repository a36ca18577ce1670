import { trimSpace } from '../white-space.ts'

const word = /(?<![\p{L}\p{N}_])[A-E](?![\p{L}\p{N}_])/gu
const triggers = ['choice is', 'answer is']

/** The letter that Qwen2.5-Math's reader of responses takes for the choice, or the text that it takes in its place. */
export function readChoice(response: string): string {
  const text = strippedOf(response, '\n', '\n')
  const repeats = triggers.some((trigger) => text.split(trigger, 3).length > 2)
  const pieces = (repeats ? (text.split('\n\n', 1)[0] ?? '') : text).split(/choice is|answer is/)
  const piece = strippedOf(strippedOf(pieces.at(-1) ?? '', '\n', '\n'), '', '.')
  const bare = strippedOf(strippedOf(strippedOf(piece, '', '/'), ' ', ' '), ':', '')
  const letters = bare.toUpperCase().match(word)
  const chosen = letters ? (pieces.length > 1 ? letters[0] : letters.at(-1)) : withoutDots(trimSpace(bare))
  return strippedOf(strippedOf(chosen ?? '', '', '.'), '', '/')
}

/** The same of an answer on its own, as its comparison has it: the last letter. */
export function gradedChoice(answer: string): string {
  const text = strippedOf(strippedOf(strippedOf(answer, '\n', '\n'), '', '.'), '', '/')
  const bare = strippedOf(strippedOf(text, ' ', ' '), ':', '')
  const chosen = bare.toUpperCase().match(word)?.at(-1) ?? withoutDots(trimSpace(bare))
  return strippedOf(strippedOf(chosen, '', '.'), '', '/')
}

const withoutDots = (text: string): string => strippedOf(text, '.', '.')

/** Without all `left` at the start and all `right` at the end; '' keeps that end. */
export function strippedOf(text: string, left: string, right: string): string {
  let start = 0
  let end = text.length
  while (left !== '' && start < end && text[start] === left) start++
  while (right !== '' && end > start && text[end - 1] === right) end--
  return text.slice(start, end)
}
