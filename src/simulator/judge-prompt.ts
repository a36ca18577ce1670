import { readChat, type Turn } from './conversation.ts'
import { cutAtFences } from './fences.ts'
import { candidateOf, type Role, readLabel, roleOf } from './labels.ts'

/** One answer to be judged; `label` is 'A', '2', ... where the prompt holds several, else ''. */
interface Candidate {
  readonly label: string
  readonly text: string
  /** Stands between two fences with the same nonce. */
  readonly isFenced: boolean
}

/** What a judge makes of its prompt. Read on first use: a policy that looks at nothing pays nothing. */
export class JudgePrompt {
  readonly text: string
  /** False where the turns had to be read from the text. */
  readonly turnsGiven: boolean
  #turns: readonly Turn[] | undefined
  #parts: Parts | undefined
  readonly #candidate: Candidate | undefined

  /** `text` is the rendered prompt, ChatML included; `turns` what it was rendered from, where that is known. */
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

  /** What stands outside the values: the author's words, as far as a reader can tell. */
  get instructions(): string {
    return this.#read().instructions
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

  /** The one chosen by `about`, else the first; null: the prompt holds none. */
  get candidate(): Candidate | null {
    return this.#candidate ?? this.candidates[0] ?? null
  }

  /** The candidate's text. */
  get answer(): string {
    return this.candidate?.text ?? ''
  }

  /** The same prompt, with one of its candidates as the answer. */
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
  question: string
  reference: string | null
  candidates: Candidate[]
}

interface Section {
  readonly role: Role
  readonly label: string
  readonly text: string
  readonly isFenced: boolean
}

function readParts(turns: readonly Turn[]): Parts {
  const parts: Parts = { instructions: '', question: '', reference: null, candidates: [] }
  const last = turns.at(-1)
  const isRollout = last?.role === 'assistant' && turns.length > 1
  const sections = (isRollout ? turns.slice(0, -1) : turns).flatMap((turn) => readSections(turn.content))
  for (const section of sections) if (section.isFenced) place(section, parts)
  const hasFencedAnswer = parts.candidates.length > 0
  for (const section of sections) {
    if (!section.isFenced && !(hasFencedAnswer && section.role === 'answer')) place(section, parts)
  }
  if (isRollout) {
    parts.candidates = [{ label: '', text: last.content, isFenced: false }]
    parts.question ||= turns.at(-2)?.content ?? ''
  }
  parts.question ||= turns.find((turn) => turn.role === 'user')?.content ?? ''
  return parts
}

/** The first question and the first reference count, fenced ones before others; labels tell answers apart. */
function place({ role, label, text, isFenced }: Section, parts: Parts): void {
  if (role === 'other') parts.instructions += isFenced ? '' : `${text}\n`
  else if (role === 'question') parts.question ||= text
  else if (role === 'reference') parts.reference ??= text
  else {
    const candidate = candidateOf(label)
    if (!parts.candidates.some((known) => known.label === candidate)) {
      parts.candidates.push({ label: candidate, text, isFenced })
    }
  }
}

function readSections(content: string): Section[] {
  const sections: Section[] = []
  let before = ''
  for (const piece of cutAtFences(content)) {
    if (piece.isValue) {
      const label = labelBefore(before)
      sections.push({ role: roleOf(label), label, text: piece.text, isFenced: true })
      continue
    }
    sections.push(...readLabelled(piece.text))
    before = piece.text
  }
  return sections
}

/** The words that name the value after them: of the last line, or of the one above where that has none. */
function labelBefore(text: string): string {
  const lines = text.slice(-400).trimEnd().split('\n').slice(-2).reverse()
  const labels = lines.map(
    (line) =>
      line
        .split(/[.!?。]\s/u)
        .at(-1)
        ?.replace(/[^\p{L}\p{N}]+$/u, '') ?? '',
  )
  return labels.find((label) => roleOf(label) !== 'other') ?? labels[0] ?? ''
}

const verdictRequest =
  /^(?:reply|respond|output|return|judge|rate|evaluate|decide|please|think|is the|does the|your (?:verdict|score)|verdict|score)\b/iu

function readLabelled(text: string): Section[] {
  const sections: Section[] = []
  let open: { role: Role; label: string; lines: string[] } = { role: 'other', label: '', lines: [] }
  const close = (): void => {
    const joined = open.lines.join('\n').trim()
    if (joined !== '') sections.push({ role: open.role, label: open.label, text: joined, isFenced: false })
  }
  let wasBlank = false
  for (const line of text.split('\n')) {
    const found = readLabel(line)
    if (found) {
      close()
      open = { role: roleOf(found.label), label: found.label, lines: [found.rest] }
    } else if (open.role !== 'other' && isEnd(line, open.label, wasBlank)) {
      close()
      open = { role: 'other', label: '', lines: [line] }
    } else open.lines.push(line)
    wasBlank = line.trim() === ''
  }
  close()
  return sections
}

/** `</answer>` after `<answer>`; or, after an empty line, what only a judge is told. */
function isEnd(line: string, label: string, afterBlank: boolean): boolean {
  const trimmed = line.trim()
  if (trimmed.startsWith('</') && trimmed.length < 60 && trimmed.includes(label)) return true
  return afterBlank && verdictRequest.test(trimmed)
}
