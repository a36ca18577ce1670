import t from 'tap'
import jsonSchema from '../../reward-functions/json-schema.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const schema = {
  type: 'object',
  required: ['city', 'days'],
  additionalProperties: false,
  properties: {
    city: { type: 'string', pattern: '^(a+)+$|^[A-Z][a-z]+$' },
    days: { type: 'array', items: { type: 'object' }, uniqueItems: true },
  },
}

ruleContract(t, jsonSchema, {
  options: { schema },
  full: { response: '{"city": "Paris", "days": [{"n": 1}, {"n": 2}]}' },
  zero: { response: '{"city": "Paris"}' },
  malformed: { response: '{"city": "Paris", "days": [' },
  hacks: {
    'a key twice': { response: '{"city": "x", "city": "Paris", "days": []}' },
    'equal items in another order of keys': {
      response: '{"city": "Paris", "days": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}',
    },
    'a name that every object inherits': { response: '{"city": "Paris", "days": [], "__proto__": 1}' },
    'text around': { response: 'Here: {"city": "Paris", "days": []}' },
    'two blocks': {
      response: '```json\n{"city": "Paris", "days": []}\n```\n```json\n{"city": "Lyon", "days": []}\n```',
    },
    'a number beyond JSON': { response: '{"city": "Paris", "days": [], "x": NaN}' },
  },
})

const value = (response: string, options: Json): number | undefined =>
  scored(jsonSchema, { response, options })?.value

t.test('JSON stands alone, or in one fenced block', async (t) => {
  const fenced = 'Here:\n```json\n{"city": "Paris", "days": []}\n```'
  t.equal(value(fenced, { schema }), 1)
  t.equal(value(fenced, { schema, fence: 'forbid' }), 0)
  t.equal(value('<answer>[1]</answer>', { schema: { type: 'array' }, place: 'tag' }), 1)
  t.equal(value('<think>[1]', { schema: { type: 'array' } }), 0)
})

t.test('inherited names are not properties', async (t) => {
  t.equal(value('{}', { schema: { required: ['toString'] } }), 0)
  t.equal(value('{"toString": 1}', { schema: { required: ['toString'] } }), 1)
  t.equal(value('[1, "1"]', { schema: { uniqueItems: true } }), 1)
  t.equal(value('[1, 1]', { schema: { uniqueItems: false } }), 1)
})

t.test('a schema that is none is refused with the options', async (t) => {
  const faulty = [{ type: 'strin' }, { pattern: '(?=a)' }, { $ref: 'http://localhost/x' }, { $async: true }]
  for (const bad of faulty) t.throws(() => row(jsonSchema, { options: { schema: bad } }), JSON.stringify(bad))
  for (let i = 0; i < 40; i++) t.equal(value(`${i}`, { schema: { const: i } }), 1)
  t.equal(value('"b"', { schema: { pattern: '^a$' } }), 0, 'patterns do not stand in for each other')
  t.equal(value('"b"', { schema: { pattern: '^b$' } }), 1)
})

t.test('a score says what is wrong, and where', async (t) => {
  const reason = (response: string): unknown =>
    scored(jsonSchema, { response, options: { schema } })?.details?.reason
  t.equal(reason('{"city": "Paris", "days": [1]}'), '/days/0 must be object')
  t.equal(reason('{"city": "Paris"}'), "must have required property 'days'")
  t.equal(reason('{'), 'not_json')
  t.equal(reason('{"a": 1, "a": 1}'), 'repeated_key')
  t.equal(reason(''), 'no_answer')
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => [
    value(text, { schema }),
    value(JSON.stringify({ city: text, days: [] }), { schema }),
  ])
  const items = Array.from({ length: 50_000 }, (_, n) => ({ n }))
  t.equal(value(JSON.stringify(items), { schema: { uniqueItems: true } }), 1, 'many different items')
})
