/** How decision models are asked through each API, and where each says what. The shapes are those of openai 3.54, vLLM 0.33 and SGLang 0.5.23. */

import {
  answerNames,
  type Decided,
  type DecisionAnswers,
  type DecisionQuestion,
} from '../../../contract/decision.ts'
import type { Message } from '../../../core/sample/sample.ts'
import type { DecideWire } from '../interface/decide-wires.ts'
import {
  contentJson,
  imageAddressJson,
  isImage,
  type RenderedImage,
  RenderedMessage,
} from '../interface/question-json.ts'
import { isObject, type JsonObject } from '../transport/reply.ts'
import { orFault, type UpstreamError } from '../transport/upstream-error.ts'
import { byName, checkScore, checkTop, decided, massIn, typed, unreadable } from './decision-answers.ts'

/** An API for decisions. */
export interface DecisionApi {
  readonly path: string
  /** The members of the body besides `model`, in parts: each begins with a comma. */
  members(about: Message, asked: readonly DecisionQuestion[]): readonly string[]
  /** An answer or UpstreamError for each question, in order. Throws UpstreamError if the whole reply is unusable. */
  read(
    body: JsonObject,
    asked: readonly DecisionQuestion[],
    least: number | undefined,
  ): readonly (Decided | UpstreamError)[]
}

/** The version of SGLang's wording of questions: another one would be another question. */
export const promptFormatVersion = 1

const idOf = (at: number): string => `q${at + 1}`

const list = (items: readonly string[]): string => `[${items.join(',')}]`

/** An object whose keys keep this order, as JSON.parse's would not: the order is that of the answers' labels. */
const object = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`

/** Reads each of some answers alone. */
const each = (
  asked: readonly DecisionQuestion[],
  read: (question: DecisionQuestion, at: number) => Decided,
): readonly (Decided | UpstreamError)[] => asked.map((question, at) => orFault(() => read(question, at)))

/** The answers of a list, one for each question. */
function listed({ answers }: JsonObject, count: number): readonly unknown[] {
  if (!Array.isArray(answers) || answers.length !== count) throw unreadable(`not ${count} answers`)
  return answers
}

/** The answers of a map by id. An id that no question has: the reply is to another request. */
function mapped({ answers }: JsonObject, count: number): JsonObject {
  if (!isObject(answers)) throw unreadable('it has no answers')
  const ids = new Set(Array.from({ length: count }, (_, at) => idOf(at)))
  if (Object.keys(answers).some((id) => !ids.has(id))) throw unreadable('it answers another question')
  return answers
}

function answerAt(answers: JsonObject, at: number): unknown {
  if (!Object.hasOwn(answers, idOf(at))) throw unreadable('it does not answer this question')
  return answers[idOf(at)]
}

/** The entries of a list of probabilities, whose keys must be those of the answers, in order. */
function ordered(entries: unknown, key: string, wanted: readonly unknown[]): readonly unknown[] {
  if (!Array.isArray(entries) || entries.length !== wanted.length)
    throw unreadable('its answers are not those of the question')
  return entries.map((entry: unknown, at) => {
    if (!isObject(entry) || entry[key] !== wanted[at])
      throw unreadable('its answers are not those of the question')
    return entry.probability
  })
}

/** Options as OpenAI's API has them; yes and no are `true` and `false`. */
const optionsOf = (as: Exclude<DecisionAnswers, { levels: unknown }>) =>
  'yesno' in as
    ? [
        { value: true, ...(as.yesno.yes && { description: as.yesno.yes }) },
        { value: false, ...(as.yesno.no && { description: as.yesno.no }) },
      ]
    : as.choice.map(({ name, description }) => ({ value: name, ...(description && { description }) }))

/** OpenAI's /v1/decisions. `isOpenai`: OpenAI's own, which may refuse, tells no mass and has predicates. */
const openaiApi = (isOpenai: boolean): DecisionApi => {
  const isPredicate = ({ as }: DecisionQuestion): boolean =>
    isOpenai && 'yesno' in as && !as.yesno.yes && !as.yesno.no
  const written = (asked: DecisionQuestion, at: number): string => {
    const { question, as } = asked
    const base = { name: idOf(at), instructions: question }
    if (isPredicate(asked)) return JSON.stringify({ type: 'predicate', ...base })
    return 'levels' in as
      ? JSON.stringify({ type: 'score', ...base, levels: as.levels.map((label) => ({ label })) })
      : JSON.stringify({ type: 'choice', ...base, choices: optionsOf(as) })
  }
  const read = (asked: DecisionQuestion, given: unknown, at: number, least: number | undefined): Decided => {
    const { as } = asked
    const type = isPredicate(asked) ? 'predicate' : 'levels' in as ? 'score' : 'choice'
    const answer = typed(given, type)
    if (answer.name !== idOf(at)) throw unreadable('it answers another question')
    if (type === 'predicate') {
      const { probability: yes } = answer
      return decided(asked, [yes, typeof yes === 'number' ? 1 - yes : null], null, least)
    }
    const { probabilities: entries } = answer
    let found: readonly unknown[]
    if ('levels' in as) {
      found = ordered(entries, 'label', as.levels)
      // Where OpenAI's own scale begins, its types do not say.
      if (!isOpenai) checkScore(answer.score, found)
    } else {
      const values = optionsOf(as).map(({ value }) => value)
      found = ordered(entries, 'value', values)
      checkTop((values as readonly unknown[]).indexOf(answer.choice), found)
    }
    return decided(asked, found, isOpenai ? null : massIn(answer.confidence, found), least)
  }
  return {
    path: '/v1/decisions',
    members: (about, asked) => [
      ',"input":',
      ...(isOpenai && RenderedMessage.imagesOf(about).length > 0 ? contentParts(about) : contentJson(about)),
      `,"questions":${list(asked.map(written))}`,
    ],
    read(body, asked, least) {
      const answers = listed(body, asked.length)
      return each(asked, (question, at) => read(question, answers[at], at, least))
    },
  }
}

/** A user message of texts and images in their order, for OpenAI. */
function contentParts(about: Message): readonly string[] {
  const parts = ['[{"role":"user","content":[']
  let isText = false
  let isFirst = true
  const begin = (): void => {
    if (isText) parts.push('"}')
    if (!isFirst) parts.push(',')
    isFirst = false
  }
  for (const piece of RenderedMessage.piecesOf(about)) {
    if (isImage(piece)) {
      begin()
      isText = false
      const { detail } = piece.image
      parts.push('{"type":"input_image","image_url":', ...imageAddressJson(piece.image))
      parts.push(detail === undefined ? '}' : `,"detail":"${detail}"}`)
      continue
    }
    const text = contentJson(new RenderedMessage('user', [piece])).slice(1, -1)
    if (text.every((part) => part === '')) continue
    if (!isText) {
      begin()
      parts.push('{"type":"input_text","text":"')
    }
    isText = true
    parts.push(...text)
  }
  parts.push(isText ? '"}]}]' : ']}]')
  return parts
}

/** `images` of a body: their addresses. Absent if there are none. */
function imagesJson(images: readonly RenderedImage[]): readonly string[] {
  if (images.length === 0) return []
  return [',"images":[', ...images.flatMap((one, at) => [at > 0 ? ',' : '', ...imageAddressJson(one)]), ']']
}

const sglangApi: DecisionApi = {
  path: '/v1/decisions',
  members: (about, asked) => [
    ',"input":',
    ...contentJson(about),
    ...imagesJson(RenderedMessage.imagesOf(about)),
    `,"questions":${list(
      asked.map(({ question, as }, at) => {
        const base = { id: idOf(at), question }
        if ('yesno' in as) return JSON.stringify({ type: 'yes_no', ...base, ...as.yesno })
        return 'choice' in as
          ? JSON.stringify({ type: 'choice', ...base, options: as.choice })
          : JSON.stringify({ type: 'score', ...base, levels: as.levels })
      }),
    )},"prompt_format_version":${promptFormatVersion}`,
  ],
  read(body, asked, least) {
    if (body.prompt_format_version !== promptFormatVersion)
      throw unreadable('its questions are worded in another version of the server')
    const answers = mapped(body, asked.length)
    return each(asked, (question, at) => {
      const { as } = question
      const type = 'yesno' in as ? 'yes_no' : 'choice' in as ? 'choice' : 'score'
      const answer = typed(answerAt(answers, at), type)
      const found = byName(answer.probabilities, 'levels' in as ? digits(as.levels.length) : answerNames(as))
      if ('choice' in as) checkTop(answerNames(as).indexOf(answer.choice as string), found)
      if ('levels' in as) checkScore(answer.score, found)
      if (answer.label_mass === undefined || answer.label_mass === null)
        throw unreadable('it does not tell the mass of its answers')
      return decided(question, found, answer.label_mass, least)
    })
  },
}

const digits = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => String(at))

/** /v1/systemone: vLLM tells the mass in `diagnostics`, SGLang in the answer, hosted servers not at all. */
const systemOneApi: DecisionApi = {
  path: '/v1/systemone',
  members: (about, asked) => [
    ',"state":',
    ...contentJson(about),
    ...imagesJson(RenderedMessage.imagesOf(about)),
    `,"questions":${object(asked.map((question, at) => [idOf(at), systemOneQuestion(question)]))}`,
  ],
  read(body, asked, least) {
    const answers = mapped(body, asked.length)
    const { diagnostics } = body
    const tellsMass = diagnostics !== undefined && diagnostics !== null
    return each(asked, (question, at) => {
      const { as } = question
      const type = 'yesno' in as ? 'noul' : 'choice' in as ? 'choice' : 'score'
      const answer = typed(answerAt(answers, at), type)
      const mass = tellsMass ? massAt(diagnostics, at) : answer.x_label_mass
      return decided(question, systemOneProbabilities(answer, as), mass, least)
    })
  },
}

/** The mass of an answer in vLLM's diagnostics, which then has those of every answer. */
function massAt(diagnostics: unknown, at: number): unknown {
  const own =
    isObject(diagnostics) && Object.hasOwn(diagnostics, idOf(at)) ? diagnostics[idOf(at)] : undefined
  if (!isObject(own)) throw unreadable('it has no diagnostics of its answer')
  return own.label_mass ?? Number.NaN
}

function systemOneQuestion({ question, as }: DecisionQuestion): string {
  const instructions = JSON.stringify(question)
  if ('levels' in as)
    return object([
      ['type', '"score"'],
      ['instructions', instructions],
      ['criteria', JSON.stringify(as.levels)],
    ])
  if ('choice' in as)
    return object([
      ['type', '"choice"'],
      ['instructions', instructions],
      [
        'criteria',
        object(as.choice.map(({ name, description }) => [name, JSON.stringify(description || null)])),
      ],
    ])
  const { yes, no } = as.yesno
  const criteria = JSON.stringify({ ...(yes && { true: yes }), ...(no && { false: no }) })
  return object([
    ['type', '"noul"'],
    ['instructions', instructions],
    ...(criteria === '{}' ? [] : [['criteria', criteria] as const]),
  ])
}

function systemOneProbabilities(answer: JsonObject, as: DecisionAnswers): readonly unknown[] {
  const { probabilities } = answer
  if ('yesno' in as) {
    const { noul: yes } = answer
    if (typeof yes !== 'number') throw unreadable('its probability of yes is no number')
    if (probabilities === undefined || probabilities === null) return [yes, 1 - yes]
    const found = byName(probabilities, ['yes', 'no'])
    if (!(Math.abs(Number(found[0]) - yes) <= scoreWithin))
      throw unreadable('its two probabilities of yes differ')
    return found
  }
  if ('choice' in as) {
    const names = answerNames(as)
    const found = byName(probabilities, names)
    checkTop(names.indexOf(answer.choice as string), found)
    return found
  }
  const found = byName(probabilities, digits(as.levels.length))
  checkScore(answer.score, found)
  return found
}

const scoreWithin = 0.01

/** The API of each wire but `choose`. */
export const decisionApis: Readonly<Record<Exclude<DecideWire, 'choose'>, DecisionApi>> = {
  openai: openaiApi(true),
  vllm: openaiApi(false),
  sglang: sglangApi,
  systemone: systemOneApi,
}
