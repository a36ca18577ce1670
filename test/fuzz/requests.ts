import type { FastifyInstance } from 'fastify'
import { requestForms } from '../chaos/request-forms.ts'
import { rolloutsOf } from '../chaos/rollouts.ts'
import { seeded } from '../support/seeded.ts'
import type { Texts } from './texts.ts'

const literals = [
  'NaN',
  '-Infinity',
  '1e999',
  '12345678901234567890',
  '-0',
  'null',
  '[]',
  '{}',
  '""',
  'true',
  '0.1e-400',
]
const headers = [
  { accept: 'application/x-ndjson' },
  { accept: '*/*;q=0' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-encoding': 'gzip' },
  { authorization: 'Bearer \u00ff' },
  { 'x-request-id': 'a'.repeat(300) },
  { traceparent: '00-0-0-00' },
  { expect: '100-continue' },
] as const

/** Statuses that /openapi.json declares for a request that scores. */
const declared = new Set([200, 400, 401, 403, 404, 408, 413, 415, 429, 502, 503])

/** Bodies of every request form, damaged as values or as text, with odd headers. What is wrong with the replies. */
export async function fuzzRequests(app: FastifyInstance, texts: Texts, count: number) {
  const faults: string[] = []
  const statuses = new Map<number, number>()
  const cases = Object.values(requestForms)
  for (let k = 0; k < count; k++) {
    const form = texts.one(cases)
    const rows = rolloutsOf(`fuzz-${k}`, 1 + texts.below(Math.min(3, form.rows)), seeded(k)).map((row) =>
      texts.below(2) === 0
        ? { ...row, response: texts.text([row.response]), truth: texts.one([row.truth, texts.text()]) }
        : row,
    )
    const payload = bodyText(texts, form.body(rows))
    const odd = texts.below(5) === 0 ? texts.one(headers) : {}
    const url = texts.below(30) === 0 ? texts.damaged(form.path).replace(/[^!-~]/gu, '~') : form.path
    const answer = await app.inject({
      method: 'POST',
      url: url.startsWith('/') ? url : `/${url}`,
      headers: { 'content-type': 'application/json', ...odd },
      payload,
    })
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
    const fault = faultOf(url, answer.statusCode, answer.body)
    if (fault) faults.push(`${url} ${JSON.stringify(odd)} ${JSON.stringify(payload).slice(0, 600)}: ${fault}`)
  }
  return { faults, statuses: Object.fromEntries([...statuses].sort()) }
}

function faultOf(url: string, status: number, reply: string): string | null {
  if (!declared.has(status)) return `${status} ${reply.slice(0, 300)}`
  // OpenRLHF makes a tensor of each of extra_logs; Python's json reads the NaN there.
  const body = url.startsWith('/wire/openrlhf') ? reply.replaceAll(/(?<=[[,])NaN(?=[\],])/g, 'null') : reply
  try {
    const parsed =
      body.includes('\n') && status === 200
        ? body
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : JSON.parse(body)
    if (status >= 400 && typeof parsed.error?.code !== 'string') return `no code: ${body.slice(0, 300)}`
    return Object.hasOwn(Object.prototype, 'polluted') ? 'a prototype was changed' : null
  } catch (error) {
    return `no JSON: ${error} ${body.slice(0, 300)}`
  }
}

function bodyText(texts: Texts, body: object): string {
  const text = JSON.stringify(body)
  switch (texts.below(6)) {
    case 0:
      return text
    case 1:
      return texts.damaged(text)
    case 2: {
      // A value in place of another one.
      const places = [...text.matchAll(/:(?:"(?:[^"\\]|\\.)*"|-?[0-9.]+|true|null)/gu)]
      const place = places.length > 0 ? texts.one(places) : null
      if (!place) return text
      return `${text.slice(0, place.index + 1)}${texts.one(literals)}${text.slice(place.index + place[0].length)}`
    }
    case 3:
      return text.replace(
        '{',
        texts.one([
          '{"__proto__":{"polluted":1},',
          '{"constructor":{"prototype":{"polluted":1}},',
          '{"a":1,"a":2,',
          `{"x":${'['.repeat(200)}${']'.repeat(200)},`,
        ]),
      )
    case 4:
      return JSON.stringify(reshaped(texts, body))
    default:
      return texts.text([text.slice(0, texts.below(text.length)), '{"samples":', '[{"response":'])
  }
}

/** A key missing, twice nested, or its value of another type. */
function reshaped(texts: Texts, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => (texts.below(3) === 0 ? reshaped(texts, item) : item))
    return texts.below(6) === 0 ? [...items, texts.one(odd)] : items
  }
  if (typeof value !== 'object' || value === null) return texts.one(odd)
  const entries = Object.entries(value)
  const at = texts.below(entries.length)
  return Object.fromEntries(
    entries.flatMap(([key, entry], index) => {
      if (index !== at) return [[key, entry]]
      return texts.one([
        [],
        [[key, reshaped(texts, entry)]],
        [[`${key}x`, entry]],
        [[key, [entry]]],
        [[key, texts.one(odd)]],
      ])
    }),
  )
}

const odd = [
  null,
  1,
  -1,
  '',
  'x',
  [],
  {},
  [[]],
  true,
  '\u0000',
  { text: 'x' },
  1e308,
  ['\ud800'],
  { role: 'user', content: [{ type: 'text', text: 'q' }] },
]
