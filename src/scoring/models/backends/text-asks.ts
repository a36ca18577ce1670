import type { AskName, Asks, Generation } from '../../../contract/index.ts'
import type { Rendered, RenderedInput } from '../api/ask.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { orFault, UpstreamError } from '../transport/upstream-error.ts'
import type { Backend, Settings, Translation } from './backend.ts'
import { choiceSettings, readChoice } from './choose.ts'

/** How one kind of server is asked for texts: for one, or for several in one request. */
export interface TextForm {
  translate(question: Rendered, settings: Settings): Translation
  /** Throws UpstreamError. */
  read(body: unknown, question: Rendered): ParsedReply<Generation>
  /** Equal for questions that may share a request; null: this one may not. */
  kind(question: Rendered, settings: Settings): string | null
  /** Of questions of one kind. */
  translateAll(questions: readonly Rendered[], settings: Settings): Translation
  /** Throws UpstreamError where the reply as a whole is unusable. */
  readAll(body: unknown, questions: readonly Rendered[]): readonly (ParsedReply<unknown> | UpstreamError)[]
}

/** Whether a server answers it with text that it generates. */
export const isTextAsk = (ask: AskName): ask is 'generate' | 'choose' =>
  ask === 'generate' || ask === 'choose'

type TextAsks = Pick<Backend, 'translate' | 'read' | 'kind' | 'translateAll' | 'readAll'>

/** `generate` and `choose` of a backend: a choice is the first token of a text. */
export function textAsks(form: TextForm): TextAsks {
  return {
    translate: (ask, input, settings) => form.translate(questionOf(ask, input), own(ask, settings)),
    read<A extends AskName>(ask: A, body: unknown, input: RenderedInput[A]) {
      const reading = form.read(body, questionOf(ask, input))
      return answered(ask, input, reading) as ParsedReply<Asks[A]['answer']>
    },
    kind: (ask, input, settings) => form.kind(questionOf(ask, input), own(ask, settings)),
    translateAll: (ask, inputs, settings) =>
      form.translateAll(
        inputs.map((input) => questionOf(ask, input)),
        own(ask, settings),
      ),
    readAll(ask, body, inputs) {
      const questions = inputs.map((input) => questionOf(ask, input))
      return form.readAll(body, questions).map((reading, at) => {
        if (ask !== 'choose' || reading instanceof UpstreamError) return reading
        return orFault(() =>
          answered(ask, inputs[at] as RenderedInput['choose'], reading as ParsedReply<Generation>),
        )
      })
    },
  }
}

const questionOf = (ask: AskName, input: RenderedInput[AskName]): Rendered =>
  ask === 'choose' ? (input as RenderedInput['choose']).question : (input as Rendered)

const own = (ask: AskName, settings: Settings): Settings =>
  ask === 'choose' ? choiceSettings(settings) : settings

const answered = (
  ask: AskName,
  input: RenderedInput[AskName],
  reading: ParsedReply<Generation>,
): ParsedReply<unknown> =>
  ask === 'choose'
    ? { ...reading, answer: readChoice((input as RenderedInput['choose']).labels, reading.answer) }
    : reading
