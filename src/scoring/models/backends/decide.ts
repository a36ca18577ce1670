import { hash } from 'node:crypto'
import type { AskName, Asks, Decided } from '../../../contract/index.ts'
import type { Message } from '../../../core/sample/sample.ts'
import type { RenderedInput } from '../interface/ask.ts'
import { answerLetters, asChat, wireFault } from '../interface/decide-wires.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import { bodyOf, imagesOfInput, isImage, RenderedMessage } from '../interface/question-json.ts'
import { isObject, type JsonObject, malformedReply, objectOf, type ParsedReply } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Asking, Backend, Settings, Translation } from './backend.ts'
import { decided } from './decision-answers.ts'
import { type DecisionApi, decisionApis } from './decision-wires.ts'
import { choiceSettings, labelMass } from './generated-text.ts'
import { isOneOf } from './model-name.ts'

type Input = RenderedInput['decide']

/** How a backend asks decision models: by the API that the model's config names. */
export const decisionsOf = (backend: Backend, config: ModelConfig): Asking =>
  config.decide.wire === 'choose'
    ? byLetters(backend, config)
    : byApi(decisionApis[config.decide.wire], config)

/** Throws if the wire cannot ask the question. */
function checkFit({ decide: { wire } }: ModelConfig, { asked, about }: Input): void {
  const fault = wireFault(wire, asked, imagesOfInput(about).length)
  if (fault !== null) throw new UpstreamError('judge_rejected', fault, { remedy: 'give-up', blame: false })
}

/** Through an API for decisions. Questions about one text share a request. */
function byApi(api: DecisionApi, config: ModelConfig): Asking {
  const start = `{"model":${JSON.stringify(config.model)}`
  const { min_mass: least } = config.decide
  const translate = (inputs: readonly Input[]): Translation => {
    for (const input of inputs) checkFit(config, input)
    const { about } = inputs[0] as Input
    const message = about[0] ?? { role: 'user', content: '' }
    const asked = inputs.map(({ asked }) => asked)
    return {
      path: api.path,
      body: bodyOf([start, ...api.members(message, asked), '}'], imagesOfInput(about)),
    }
  }
  const read = (
    value: unknown,
    inputs: readonly Input[],
  ): readonly (ParsedReply<Decided> | UpstreamError)[] => {
    const body = ofModel(value, config)
    const asked = inputs.map(({ asked }) => asked)
    const used = tokensIn(body, inputs.length)
    return api
      .read(body, asked, least)
      .map((one) => (one instanceof UpstreamError ? one : { answer: one, ...used }))
  }
  return {
    translate: (_ask, input) => translate([input as Input]),
    read<A extends AskName>(_ask: A, value: unknown, input: RenderedInput[A]) {
      const [only] = read(value, [input as Input])
      if (!only || only instanceof UpstreamError) throw only ?? malformedReply('no answer')
      return only as ParsedReply<Asks[A]['answer']>
    },
    batchKey(_ask, input) {
      checkFit(config, input as Input)
      // The text may be long, and keys are kept.
      return hash('sha256', identityOf((input as Input).about[0]))
    },
    translateBatch: (_ask, inputs) => translate(inputs as readonly Input[]),
    readBatch: (_ask, value, inputs) => read(value, inputs as readonly Input[]),
  }
}

/** What a message shows: its text, or its texts and images in their order. */
function identityOf(message: Message | undefined): string {
  if (!message || RenderedMessage.imagesOf(message).length === 0) return message?.content ?? ''
  const pieces = RenderedMessage.piecesOf(message).map((piece) => {
    if (!isImage(piece)) return typeof piece === 'string' ? piece : piece.text
    const { sha256, url, detail } = piece.image
    return [sha256, url, detail]
  })
  return JSON.stringify(pieces)
}

/** The reply, if it comes from the model. */
function ofModel(value: unknown, { backend, model, served_model_aliases: aliases }: ModelConfig): JsonObject {
  const body = objectOf(value)
  const { model: from } = body
  if (typeof from !== 'string') throw malformedReply('it names no model')
  const names = [model, ...aliases]
  const isOurs = backend === 'openai' ? isOneOf(names, from) : names.includes(from)
  if (!isOurs) throw malformedReply('it comes from another model')
  return body
}

/** The tokens of each of `count` questions. vLLM and OpenAI count input and output, SGLang's /v1/decisions the prompt. */
function tokensIn({ usage }: JsonObject, count: number): { prompt: number; completion: number } {
  const { input_tokens, prompt_tokens, output_tokens } = isObject(usage) ? usage : ({} as JsonObject)
  const share = (value: unknown): number =>
    Number.isSafeInteger(value) && (value as number) >= 0 ? Math.round((value as number) / count) : 0
  return { prompt: share(input_tokens ?? prompt_tokens), completion: share(output_tokens) }
}

/** As a chat: the answers have letters, and the first token says how likely each is. */
function byLetters(backend: Backend, config: ModelConfig): Asking {
  const read = (value: unknown, input: Input): ParsedReply<Decided> => {
    const { asked } = input
    const { answer, prompt, completion } = backend.read('generate', value, asChat(input))
    const letters = answerLetters(
      'choice' in asked.as ? asked.as.choice.length : 'levels' in asked.as ? asked.as.levels.length : 2,
    )
    const masses = labelMass(letters, answer)
    const mass = letters.reduce((sum, letter) => sum + (masses.get(letter) ?? 0), 0)
    const probabilities = letters.map((letter) => (masses.get(letter) ?? 0) / mass)
    return { answer: decided(asked, probabilities, mass, config.decide.min_mass), prompt, completion }
  }
  return {
    translate(_ask, input, settings: Settings) {
      checkFit(config, input as Input)
      return backend.translate('generate', asChat(input as Input), choiceSettings(settings))
    },
    read<A extends AskName>(_ask: A, value: unknown, input: RenderedInput[A]) {
      return read(value, input as Input) as ParsedReply<Asks[A]['answer']>
    },
    batchKey: () => null,
    translateBatch() {
      throw notShared
    },
    readBatch() {
      throw notShared
    },
  }
}

const notShared = new UpstreamError('judge_rejected', 'decide.wire choose asks one question at a time', {
  remedy: 'give-up',
  blame: false,
})
