import t from 'tap'
import formatTags from '../../reward-functions/format-tags.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

ruleContract(t, formatTags, {
  full: { response: '<think>6 * 7</think>\n<answer>42</answer>\n' },
  zero: { response: '42' },
  malformed: { response: '<think>6 * 7<answer>42</answer>' },
  hacks: {
    'empty thinking': { response: '<think> </think><answer>42</answer>' },
    'two answers': { response: '<think>a</think><answer>41</answer><answer>42</answer>' },
    'the other order': { response: '<answer>42</answer><think>a</think>' },
    'text after the answer': { response: '<think>a</think><answer>42</answer> or 43' },
    'a tag inside a tag': { response: '<think>a<answer>42</answer></think>' },
    'tags in another case': { response: '<THINK>a</THINK><answer>42</answer>' },
  },
})

const value = (response: string, options: Json): number | undefined =>
  scored(formatTags, { response, options })?.value

t.test('credit may be given for each tag', async (t) => {
  const each = { credit: 'each' }
  t.equal(value('<think>a</think><answer>42</answer>', each), 1)
  t.equal(value('x<think>a</think><answer>42</answer>', each), 2 / 3)
  t.equal(value('<think>a</think>42', each), 1 / 3)
  t.equal(value('', each), 0)
  t.equal(value('<think>a</think>42', { ...each, outside: 'allow' }), 0.5)
})

t.test('the prompt may have opened the first tag', async (t) => {
  t.equal(value('a</think><answer>42</answer>', { opened: true }), 1)
  t.equal(value('<think>a</think><answer>42</answer>', { opened: true }), 0)
  t.equal(value('a<answer>42</answer>b', { tags: ['answer'], outside: 'allow' }), 1)
})

t.test('a score names the tags that are wrong', async (t) => {
  const reason = (response: string): unknown => scored(formatTags, { response })?.details?.reason
  t.equal(reason('<answer>1</answer>'), 'tags: think')
  t.equal(reason('x<think>a</think><answer>1</answer>'), 'text_outside')
  t.throws(() => row(formatTags, { options: { tags: ['<a>'] } }))
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => [value(text, {}), value(text, { opened: true, credit: 'each' })])
})
