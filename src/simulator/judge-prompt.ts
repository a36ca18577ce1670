import { readChat, type Turn } from './conversation.ts'
import { CriteriaReader, type Criterion, decidedCriterion } from './rubric-prompt.ts'

/** A part of a prompt: the author's text, or a value between two fences. */
interface Piece {
  readonly text: string
  readonly isValue: boolean
}

/**
 * A fence is the end or start of a line with a token that looks random: `⟦3f09ab12cd45`,
 * `END 3f09ab12cd45 --`.
 */
const reach = 120
const token = /[0-9A-Za-z]{8,}/gu
const onlySigns = /^\s?[^\s0-9A-Za-z]{0,12}\s*$/u
const signs = /^\s?[^\s0-9A-Za-z]{1,12}/u

/** Cuts a prompt at lines that carry the same random token. The text between two of them is a value. */
function cutAtFences(text: string): Piece[] {
  const lines = text.split('\n')
  const closings = new Closings(lines)
  const pieces: Piece[] = []
  let outside: string[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const nonce = openingNonce(line)
    const end = nonce === null ? undefined : closings.after(nonce, at)
    if (nonce === null || end === undefined) {
      outside.push(line)
      at += 1
      continue
    }
    const opening = line.slice(0, line.lastIndexOf(nonce)).replace(/[^\p{L}\p{N}\s]{1,12}$/u, '')
    pieces.push({ text: [...outside, opening].join('\n'), isValue: false })
    pieces.push({ text: lines.slice(at + 1, end).join('\n'), isValue: true })
    const closing = lines[end] ?? ''
    lines[end] = closing.slice(closing.indexOf(nonce) + nonce.length).replace(signs, '')
    outside = []
    at = end
  }
  pieces.push({ text: outside.join('\n'), isValue: false })
  return pieces
}

function openingNonce(line: string): string | null {
  const tail = line.slice(-reach)
  const last = [...tail.matchAll(token)].at(-1)
  if (!last || !isRandom(last[0])) return null
  return onlySigns.test(tail.slice(last.index + last[0].length)) ? last[0] : null
}

/** For each random token: the lines that start with it, possibly after a few words or signs. */
class Closings {
  readonly #byNonce = new Map<string, { readonly lines: number[]; next: number }>()

  constructor(lines: readonly string[]) {
    for (const [index, line] of lines.entries()) {
      for (const [found] of line.slice(0, reach).matchAll(token)) {
        if (!isRandom(found)) continue
        const known = this.#byNonce.get(found)
        if (known) known.lines.push(index)
        else this.#byNonce.set(found, { lines: [index], next: 0 })
      }
    }
  }

  /**
   * The first such line after `at`. Calls use a growing `at`, so that all calls together take linear time.
   */
  after(nonce: string, at: number): number | undefined {
    const known = this.#byNonce.get(nonce)
    if (!known) return undefined
    while ((known.lines[known.next] ?? Number.POSITIVE_INFINITY) <= at) known.next += 1
    return known.lines[known.next]
  }
}

/** One hexadecimal nonce of 12 digits in 300 has no letter. */
function isRandom(word: string): boolean {
  return /\d/u.test(word) && (word.length === 12 || /[A-Za-z]/u.test(word))
}

/** The role of a part of a judge's prompt, by the words of its label. */
type Role = 'question' | 'answer' | 'reference' | 'other'

const references = /reference|expected|ground.?truth|\bgold|correct (?:answer|solution)|参考|标准答案/iu
const others =
  /question|problem|task|query|问题|题目|answer|response|solution|reply|candidate|completion|submission|assistant|chatbot|回答|回复/iu
const questions = /question|problem|task|query|问题|题目/iu

/** `isShort`: the prompt has a part `Q:`, so that `A:` is the answer to it and no option or candidate. */
function roleOf(label: string, isShort = false): Role {
  if (isShort && /^[QA]$/u.test(label)) return label === 'Q' ? 'question' : 'answer'
  if (references.test(label)) return 'reference'
  const word = others.exec(label)?.[0]
  if (word === undefined) return 'other'
  return questions.test(word) ? 'question' : 'answer'
}

/** The candidate that a label names: `B` in 'Answer B', `2` in 'Response 2', `a2` in 'Answer a2', '' if none. */
function candidateOf(label: string): string {
  return /(?:^|[^A-Za-z0-9])([A-Z]|a?\d{1,3})[^A-Za-z0-9]*$/u.exec(label.slice(-12))?.[1] ?? ''
}

const decoration = /^[\s#*>[(<_-]{0,8}/u

/**
 * Reads a line that opens a part: `Question: ...`, `### Answer`, `[Reference]`, `<answer>`. null for other
 * lines.
 */
function readLabel(line: string, isShort: boolean): { readonly label: string; readonly rest: string } | null {
  const start = decoration.exec(line)?.[0].length ?? 0
  const head = line.slice(start, start + 60)
  const colon = /[:：]/u.exec(head)?.index ?? -1
  if (colon > 0) {
    const label = head.slice(0, colon).replace(/[\s*\])>_]+$/u, '')
    if (/[.!?{}"]/u.test(label) || label.split(' ').length > 6 || roleOf(label, isShort) === 'other')
      return null
    return { label, rest: line.slice(start + colon + 1).replace(/^\**\s?/u, '') }
  }
  if (start === 0 || line.length > 60) return null
  const label = head.replace(/[\s*\])>_]+$/u, '')
  return label.split(' ').length <= 4 && roleOf(label, isShort) !== 'other' ? { label, rest: '' } : null
}

/** An answer to judge. `label` is 'A', '2', ... if the prompt has several, else ''. */
interface Candidate {
  readonly label: string
  readonly text: string
  /** It is between two fences with the same nonce. */
  readonly isFenced: boolean
  /** It may be an earlier turn of a conversation. */
  readonly isTurn?: boolean
}

/** A judge's reading of its prompt. Parsed on first use, so a policy that reads nothing pays nothing. */
export class JudgePrompt {
  readonly text: string
  /** False if the turns had to be parsed from the text. */
  readonly turnsGiven: boolean
  #turns: readonly Turn[] | undefined
  #parts: Parts | undefined
  readonly #candidate: Candidate | undefined

  /** `text` is the rendered prompt with its ChatML, `turns` its source if known. */
  constructor(text: string, turns?: readonly Turn[], candidate?: Candidate) {
    this.text = text
    this.turnsGiven = turns !== undefined
    this.#turns = turns
    this.#candidate = candidate
  }

  get turns(): readonly Turn[] {
    this.#turns ??= readChat(this.text)
    return this.#turns
  }

  /** The text outside of the values: the author's words, as far as a reader can tell. */
  get instructions(): string {
    return this.#read().instructions
  }

  /** The same with what stands under labels such as `Task:`, if values are fenced: then nobody else wrote there. */
  get ownWords(): string {
    return this.#read().ownWords
  }

  get question(): string {
    return this.#read().question
  }

  /** null: the prompt names none. */
  get reference(): string | null {
    return this.#read().reference
  }

  get candidates(): readonly Candidate[] {
    return this.#read().candidates
  }

  /** What the answers are judged by, as the prompt fences it. */
  get criteria(): readonly Criterion[] {
    return this.#read().criteria
  }

  /** The candidate selected by `about`, else the first. null: the prompt has none. */
  get candidate(): Candidate | null {
    return this.#candidate ?? this.candidates[0] ?? null
  }

  /** The candidate's text. */
  get answer(): string {
    return this.candidate?.text ?? ''
  }

  /** The same prompt with one of its candidates as the answer. */
  about(candidate: Candidate): JudgePrompt {
    const prompt = new JudgePrompt(this.text, this.#turns, candidate)
    prompt.#parts = this.#parts
    return prompt
  }

  #read(): Parts {
    this.#parts ??= readParts(this.turns)
    return this.#parts
  }
}

interface Parts {
  instructions: string
  ownWords: string
  question: string
  reference: string | null
  candidates: Candidate[]
  criteria: readonly Criterion[]
}

interface Section {
  readonly role: Role
  readonly label: string
  readonly text: string
  readonly isFenced: boolean
}

function readParts(turns: readonly Turn[]): Parts {
  const parts: Parts = {
    instructions: '',
    ownWords: '',
    question: '',
    reference: null,
    candidates: [],
    criteria: [],
  }
  const reader = new CriteriaReader()
  const last = turns.at(-1)
  const isRollout = last?.role === 'assistant' && turns.length > 1
  const sections = (isRollout ? turns.slice(0, -1) : turns).flatMap((turn) => readSections(turn.content))
  for (const section of sections) {
    const isOfRubric = reader.take(section)
    if (section.isFenced && !isOfRubric) place(section, parts)
  }
  if (sections.some(({ isFenced }) => isFenced))
    for (const { isFenced, label, text } of sections) if (!isFenced) parts.ownWords += `${label}\n${text}\n`
  parts.criteria = [...reader.criteria, ...(reader.criteria.length > 0 ? [] : decidedCriterion(turns))]
  const hasFencedAnswer = parts.candidates.length > 0
  for (const section of sections) {
    if (!section.isFenced && !(hasFencedAnswer && section.role === 'answer')) place(section, parts)
  }
  parts.ownWords ||= parts.instructions
  if (isRollout) {
    parts.candidates = [{ label: '', text: last.content, isFenced: false }]
    parts.question ||= turns.at(-2)?.content ?? ''
  }
  parts.question ||= turns.find((turn) => turn.role === 'user')?.content ?? ''
  return parts
}

/**
 * The first question and the first reference count, fenced ones before others. Labels distinguish answers.
 */
function place({ role, label, text, isFenced }: Section, parts: Parts): void {
  if (role === 'other') parts.instructions += isFenced ? '' : `${text}\n`
  else if (role === 'question') parts.question ||= text
  else if (role === 'reference') parts.reference ??= text
  else {
    const candidate = label === 'A' ? '' : candidateOf(label)
    const isTurn = /^\W*assistant\W*$/iu.test(label)
    const known = parts.candidates.findIndex((one) => one.label === candidate)
    if (known < 0) parts.candidates.push({ label: candidate, text, isFenced, isTurn })
    // A conversation that the prompt shows has turns of an assistant before the answer.
    else if (parts.candidates[known]?.isTurn && !isTurn)
      parts.candidates[known] = { label: candidate, text, isFenced }
  }
}

const short = /(?:^|\n)[\s#*>[(<_-]{0,8}Q\s?[:：]/u

function readSections(content: string): Section[] {
  const sections: Section[] = []
  const isShort = short.test(content)
  let before = ''
  for (const piece of cutAtFences(content)) {
    if (piece.isValue) {
      const label = labelBefore(before, isShort)
      sections.push({ role: roleOf(label, isShort), label, text: piece.text, isFenced: true })
      continue
    }
    sections.push(...readLabelled(piece.text, isShort))
    before = piece.text
  }
  return sections
}

/** The label of the next value: the last line, or the line above if the last is empty. */
function labelBefore(text: string, isShort: boolean): string {
  const lines = text.slice(-400).trimEnd().split('\n').slice(-2).reverse()
  const labels = lines.map(
    (line) =>
      line
        .split(/[.!?。]\s/u)
        .at(-1)
        ?.replace(/[^\p{L}\p{N}]+$/u, '') ?? '',
  )
  return labels.find((label) => roleOf(label, isShort) !== 'other') ?? labels[0] ?? ''
}

const verdictRequest =
  /^(?:reply|respond|output|return|judge|rate|evaluate|decide|please|think|is the|does the|your (?:verdict|score)|verdict|score)\b/iu

function readLabelled(text: string, isShort: boolean): Section[] {
  const sections: Section[] = []
  let open: { role: Role; label: string; lines: string[] } = { role: 'other', label: '', lines: [] }
  const close = (): void => {
    const joined = open.lines.join('\n').trim()
    if (joined !== '') sections.push({ role: open.role, label: open.label, text: joined, isFenced: false })
  }
  let wasBlank = false
  for (const line of text.split('\n')) {
    const found = readLabel(line, isShort)
    if (found) {
      close()
      open = { role: roleOf(found.label, isShort), label: found.label, lines: [found.rest] }
    } else if (open.role !== 'other' && isEnd(line, open.label, wasBlank)) {
      close()
      open = { role: 'other', label: '', lines: [line] }
    } else open.lines.push(line)
    wasBlank = line.trim() === ''
  }
  close()
  return sections
}

/** `</answer>` after `<answer>`, or, after an empty line, an instruction that only a judge receives. */
function isEnd(line: string, label: string, afterBlank: boolean): boolean {
  const trimmed = line.trim()
  if (trimmed.startsWith('</') && trimmed.length < 60 && trimmed.includes(label)) return true
  return afterBlank && verdictRequest.test(trimmed)
}
