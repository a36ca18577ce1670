import type { Call, Endpoint } from '../call.ts'
import { JudgePrompt } from '../judge-prompt.ts'
import { badRequest } from '../refusal.ts'
import { pass } from './pooling.ts'

/**
 * POST /verify, /grade and /api/check: services that score, in the shapes of NeMo Gym's resources servers, of Kimina's Lean
 * server (both forms), and a plain `{response, answer}` -> `{score}`. No Lean runs: a proof with `sorry` has a gap, one
 * without `:=` or `by` an error.
 */
export const verify: Endpoint = async (call) => {
  const { codes, snippets, response } = call.body
  if (snippets !== undefined)
    return { json: { results: await proofs(call, listOf(snippets, 'snippets'), 'id') } }
  if (codes !== undefined)
    return { json: { results: await proofs(call, listOf(codes, 'codes'), 'custom_id') } }
  if (typeof response === 'object' && response !== null) return { json: await gymReply(call, response) }
  if (typeof response !== 'string') throw badRequest('response must be a string', 'response')
  const { question = '', answer = '' } = call.body
  const score = await scoreOf(call, String(question), response, answer)
  return { json: { score, reward: score } }
}

type Fields = Readonly<Record<string, unknown>>

function listOf(value: unknown, param: string): readonly Fields[] {
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => typeof one === 'object' && one !== null)
  )
    return value as Fields[]
  throw badRequest(`${param} must be a list of objects`, param)
}

async function scoreOf(call: Call, question: string, response: string, answer: unknown) {
  const text = `Question: ${question}\n\nAnswer: ${response}\n\nReference: ${typeof answer === 'string' ? answer : JSON.stringify(answer)}`
  const { model } = call
  await pass(call, [{ text }])
  return model.judge.score(new JudgePrompt(text), { seed: model.seed, index: 0 }) ?? 0
}

/** A reply of Gym repeats the request. */
async function gymReply(call: Call, response: object): Promise<object> {
  const { body } = call
  const { output } = response as { readonly output?: unknown }
  const said = textsOf(output).join('')
  const truth = body.expected_answer ?? body.answer ?? ''
  const asked = textsOf((body.responses_create_params as Fields | undefined)?.input).join('\n')
  const reward = await scoreOf(call, asked, said, truth)
  return { ...body, reward, mask_sample: false, failure_kind: null, failure_reason: null }
}

/** The texts of Responses items. */
function textsOf(items: unknown): readonly string[] {
  if (typeof items === 'string') return [items]
  if (!Array.isArray(items)) return []
  return items.flatMap(({ content, text }: Fields) =>
    typeof text === 'string' ? [text] : content === undefined ? [] : textsOf(content),
  )
}

async function proofs(
  call: Call,
  asked: readonly Fields[],
  id: 'id' | 'custom_id',
): Promise<readonly object[]> {
  const codes = asked.map(({ code, proof }) => String(proof ?? code ?? ''))
  await pass(
    call,
    codes.map((text) => ({ text })),
  )
  return codes.map((code, at) => {
    const pos = { line: 1, column: 0 }
    const isText = /:=|\bby\b/.test(code)
    const messages = isText ? [] : [{ severity: 'error', pos, endPos: pos, data: 'unexpected end of input' }]
    const sorries = code.includes('sorry') ? [{ pos, endPos: pos, goal: '⊢ False' }] : []
    const response = { env: 0, messages, sorries }
    const own = { [id]: asked[at]?.[id], error: null }
    return id === 'id'
      ? { ...own, time: 0.1, response, diagnostics: null }
      : { ...own, response: { ...response, time: 0.1 } }
  })
}
