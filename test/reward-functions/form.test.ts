import t from 'tap'
import formatTags from '../../reward-functions/format-tags.ts'
import groupLength from '../../reward-functions/group-length.ts'
import historyRepeat from '../../reward-functions/history-repeat.ts'
import labelF1 from '../../reward-functions/label-f1.ts'
import length from '../../reward-functions/length.ts'
import overlongPenalty from '../../reward-functions/overlong-penalty.ts'
import repetitionPenalty from '../../reward-functions/repetition-penalty.ts'
import { BadSample, type Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { hasLoop, repeatedShare, words } from '../../src/grading/index.ts'
import { hasSampledLoop } from '../../src/grading/repetition.ts'
import { eachNearLinear, hostileLength, mostMs } from '../support/hostile.ts'
import { valueBy } from '../support/rules.ts'
import { seeded } from '../support/seeded.ts'

const tagged = (response: string, options: { [name: string]: Json } = {}) =>
  valueBy(formatTags)(response, null, options)

t.test('format-tags keeps its contract', async (t) => {
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
})

t.test('format-tags: credit may be given for each tag', async (t) => {
  const each = { credit: 'each' }
  t.equal(tagged('<think>a</think><answer>42</answer>', each), 1)
  t.equal(tagged('x<think>a</think><answer>42</answer>', each), 2 / 3)
  t.equal(tagged('<think>a</think>42', each), 1 / 3)
  t.equal(tagged('', each), 0)
  t.equal(tagged('<think>a</think>42', { ...each, outside: 'allow' }), 0.5)
})

t.test('format-tags: the prompt may have opened the first tag', async (t) => {
  t.equal(tagged('a</think><answer>42</answer>', { opened: true }), 1)
  t.equal(tagged('<think>a</think><answer>42</answer>', { opened: true }), 0)
  t.equal(tagged('a<answer>42</answer>b', { tags: ['answer'], outside: 'allow' }), 1)
})

t.test('format-tags: a score names the tags that are wrong', async (t) => {
  const reason = (response: string): unknown => scored(formatTags, { response })?.details?.reason
  t.equal(reason('<answer>1</answer>'), 'tags: think')
  t.equal(reason('x<think>a</think><answer>1</answer>'), 'text_outside')
  t.throws(() => row(formatTags, { options: { tags: ['<a>'] } }))
})

const lengths = { max_length: 100, buffer: 20 }
const long = (response_length: Json): { extraInfo: Record<string, Json> } => ({
  extraInfo: { response_length },
})

t.test('overlong-penalty keeps its contract', async (t) => {
  ruleContract(t, overlongPenalty, {
    options: lengths,
    full: long(80),
    zero: long(100),
    malformed: { response: 'a'.repeat(101), options: { ...lengths, unit: 'characters' } },
    hacks: {
      'a little over': long(81),
      'far over': long(100_000),
      'wide characters count too': {
        response: '\u{1f600}'.repeat(90),
        options: { ...lengths, unit: 'characters' },
      },
    },
  })
})

t.test("the penalty falls over the buffer, by DAPO's formula", async (t) => {
  const value = (length: number, factor = 1): number | undefined =>
    scored(overlongPenalty, { ...long(length), options: { ...lengths, penalty_factor: factor } })?.value
  t.equal(value(0), 0)
  t.equal(value(85), -0.25)
  t.equal(value(95, 2), -1.5)
  t.equal(value(101, 2), -2)
  const named = { ...lengths, length_field: 'tokens' }
  t.equal(scored(overlongPenalty, { extraInfo: { tokens: 90 }, options: named })?.value, -0.5)
})

t.test('a row without a length is invalid, not free of the penalty', async (t) => {
  t.throws(
    () => scored(overlongPenalty, { options: lengths }),
    new BadSample(
      'extra_info.response_length is not a length in tokens; send it or tokens.response, or set unit: characters',
    ),
  )
  t.throws(() => scored(overlongPenalty, { ...long('90'), options: lengths }))
  t.throws(() => scored(overlongPenalty, { ...long(-1), options: lengths }))
  t.throws(() => row(overlongPenalty, { options: { max_length: 10, buffer: 20 } }))
})

t.test('repetition-penalty keeps its contract', async (t) => {
  ruleContract(t, repetitionPenalty, {
    within: 0.01,
    full: { response: 'Six crates of seven jars make forty-two jars.' },
    zero: { response: 'wait '.repeat(1000) },
    malformed: { response: 'so so so so' },
    hacks: {
      'case does not hide a repetition': { response: 'Wait a bit. wait A bit. WAIT a BIT.' },
      'punctuation does not': { response: 'wait a bit, wait a bit; wait a bit' },
      'nor does a script without spaces': { response: '让我再检查一遍让我再检查一遍' },
    },
  })
})

t.test('the share of repeated n-grams is one minus the share of different ones', async (t) => {
  t.equal(repeatedShare(['a', 'b', 'a', 'b', 'a'], 2), 0.5)
  t.equal(repeatedShare(['a', 'b'], 3), 0)
  t.equal(repeatedShare([], 1), 0)
  t.equal(repeatedShare(['a', 'a'], 1), 0.5)
  t.strictSame(words("It's 42東京へ x_1"), ["it's", '42', '東', '京', 'へ', 'x_1'])
  const value = scored(repetitionPenalty, {
    response: 'a b a b a',
    options: { ngram: 2, max_penalty: -2 },
  })
  t.strictSame(value, { value: -1, details: { repeated_share: 0.5 } })
})

/** By the definition: a position and a period of which all shifted letters match. */
function slowHasLoop(text: string): boolean {
  const points = [...text]
  for (let period = 20; period * 5 <= points.length; period++) {
    let matches = 0
    for (let at = 0; at + period < points.length; at++) {
      matches = points[at] === points[at + period] ? matches + 1 : 0
      if (matches === 4 * period) return true
    }
  }
  return false
}

t.test('a loop is found wherever it stands, and only there', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  const next = seeded(seed)
  const letters = (count: number, kinds: number): string =>
    Array.from({ length: count }, () => String.fromCodePoint(0x1f600 + Math.floor(next() * kinds))).join('')
  for (let run = 0; run < 300; run++) {
    const unit = letters(15 + Math.floor(next() * 40), 1 + Math.floor(next() * 3))
    const cut = letters(Math.floor(next() * 30), 2)
    const text = cut + unit.repeat(3 + Math.floor(next() * 4)) + cut.slice(1) + unit
    t.equal(hasLoop(text), slowHasLoop(text), `seed ${seed}, run ${run}`)
  }
})

t.test('five times twenty code points are a loop, less is none', async (t) => {
  t.ok(hasLoop('a'.repeat(100)))
  t.notOk(hasLoop('a'.repeat(99)))
  t.ok(hasLoop(`x${'😀'.repeat(100)}`))
  t.notOk(hasLoop('😀'.repeat(99)))
  t.notOk(hasLoop(''))
})

t.test('long loops are told from long near-loops', async (t) => {
  const next = seeded(3)
  const unit = Array.from({ length: 3000 }, () => String.fromCharCode(97 + next() * 26)).join('')
  t.ok(hasLoop(`before ${unit.repeat(5)} after`))
  t.notOk(hasLoop(`${unit.repeat(4)}${unit.slice(0, -1)}!`))
})

t.test('the sampled detector misses loops and takes texts of one hash for equal', async (t) => {
  const unit = 'seventeen and a half letters or so, give or take'
  t.ok(hasSampledLoop(unit.repeat(5)))
  const missed = `${'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(3)}${unit.repeat(5)}${'zyxw,'.repeat(7)}`
  t.notOk(hasSampledLoop(missed))
  t.ok(hasLoop(missed))
  const colliding = `${'a\u0161'.repeat(11)}${'ba'.repeat(11)}`
  t.ok(hasSampledLoop(colliding.repeat(2) + colliding.slice(0, 22)))
  t.notOk(hasLoop(colliding.repeat(2) + colliding.slice(0, 22)))
})

t.test('hostile text is scored in linear time', async (t) => {
  eachNearLinear(t, {
    'format-tags': (text) => [tagged(text), tagged(text, { opened: true, credit: 'each' })],
    'repetition-penalty': (response) => scored(repetitionPenalty, { response, options: { ngram: 20 } }),
    'history-repeat': (response) => scored(historyRepeat, told(response, response.slice(0, 1000), sorry)),
    'label-f1': (response) => scored(labelF1, { response, groundTruth: 'a', options: { classes: { a: 1 } } }),
    length: (response) =>
      scored(length, {
        response,
        options: { kind: 'cosine', max_length: 9, unit: 'words' },
        earlier: after(1),
      }),
    'group-length': (response) =>
      groupLength.score(
        [response, 'a'].map((one) =>
          row(groupLength, { response: one, options: { kind: 'kimi', unit: 'words' }, earlier: after(1) }),
        ),
      ),
    'overlong-penalty': (response) =>
      scored(overlongPenalty, { response, options: { ...lengths, unit: 'characters' } }),
    'a loop': hasLoop,
    'a loop, sampled': hasSampledLoop,
  })
})

t.test('long near-loops cost little', async (t) => {
  const next = seeded(7)
  const irregular = (longest: number, shortest: number): string => {
    let text = ''
    while (text.length < hostileLength) {
      text += `${'a'.repeat(shortest + Math.floor(next() * (longest - shortest)))}b`
    }
    return text
  }
  let [before, nested] = ['a', 'ab']
  while (nested.length < hostileLength) [before, nested] = [nested, nested + before]
  const texts = { irregular: irregular(98, 60), nearly: irregular(99, 97), nested }
  for (const [name, text] of Object.entries(texts)) {
    for (const find of [hasLoop, hasSampledLoop]) {
      const start = process.cpuUsage()
      find(text)
      const { user, system } = process.cpuUsage(start)
      const ms = Math.round((user + system) / 1000)
      t.ok(ms < mostMs(), `${name}, ${find.name}: ${ms} ms`)
    }
  }
})

const after = (value: number | null) => ({ right: { score: value === null ? null : { value }, texts: [] } })
const measured = (tokens: Json, value: number | null, options: { [name: string]: Json }) => ({
  options,
  earlier: after(value),
  extraInfo: { response_length: tokens },
})
const groupValues = (
  answers: readonly (readonly [Json, number | null])[],
  options: { [name: string]: Json },
) =>
  groupLength
    .score(answers.map(([tokens, right]) => row(groupLength, measured(tokens, right, options))))
    .map((verdict) => (typeof verdict === 'object' && verdict !== null ? verdict.value : verdict))

t.test('length keeps its contract', async (t) => {
  const cosine = { kind: 'cosine', max_length: 100 }
  ruleContract(t, length, {
    options: cosine,
    full: measured(0, 1, cosine),
    zero: measured(100, 1, cosine),
    malformed: measured(5000, 1, cosine),
    hacks: { 'a little longer': measured(1, 1, cosine), 'above the longest': measured(101, 1, cosine) },
  })
  const target = { kind: 'target', goal: 50, alpha: 0.02 }
  ruleContract(t, length, {
    options: target,
    full: measured(50, 1, target),
    zero: measured(0, 1, target),
    malformed: measured(101, 1, target),
    hacks: { shorter: measured(49, 1, target), longer: measured(51, 1, target) },
  })
})

t.test('length: a wrong answer has no length term, however long it is', async (t) => {
  for (const kind of [
    { kind: 'cosine', max_length: 100 },
    { kind: 'target', goal: 50 },
  ])
    for (const tokens of [0, 50, 100, 5000])
      for (const right of [0, 0.99, null]) t.equal(scored(length, measured(tokens, right, kind)), null)
  const half = { kind: 'target', goal: 50, right_from: 0.5 }
  t.equal(scored(length, measured(50, 0.5, half))?.value, 1)
  const published = { kind: 'cosine', mode: 'published', max_length: 100 }
  t.equal(scored(length, measured(0, 0, published))?.value, -1)
})

t.test("length: the goal is the row's, exact or a maximum, and the length is in the unit", async (t) => {
  const options = { kind: 'target', form: 'at_most', alpha: 0.1, unit: 'words' }
  const of = (response: string, goal: Json, more: { [name: string]: Json } = {}) =>
    scored(length, {
      response,
      options: { ...options, ...more },
      earlier: after(1),
      extraInfo: { target_length: goal },
    })
  t.strictSame(of('one two three', 3), { value: 1, details: { length: 3, goal: 3 } })
  t.equal(of('one', '3')?.value, 1)
  t.equal(of('one', 3, { form: 'exact' })?.value, 0.8)
  t.equal(of('one two three four', 3)?.value, 0.9)
  t.equal(of('一二三', 3)?.value, 1)
  t.equal(of('one', 3, { unit: 'characters' })?.value, 1)
  for (const goal of [null, '', 'three', -1, true])
    t.throws(() => of('one', goal), /extra_info.target_length is not a length; send it, or set options.goal/)
  t.throws(
    () => scored(length, { ...measured(5, 1, { kind: 'cosine', max_length: 9 }), earlier: {} }),
    /after/,
  )
  t.throws(
    () => scored(length, measured('5', 1, { kind: 'cosine', max_length: 9 })),
    /not a length in tokens/,
  )
  t.throws(() => row(length, { options: { kind: 'cosine', max_length: 9, goal: 3 } }), /goal/)
})

t.test('group-length: only right answers are compared, and wrong ones have no term', async (t) => {
  const kimi = { kind: 'kimi' }
  t.strictSame(
    groupValues(
      [
        [100, 1],
        [300, 1],
        [10, 0],
        [200, 1],
        [9, null],
      ],
      kimi,
    ),
    [0.5, -0.5, null, 0, null],
  )
  for (const kind of [kimi, { kind: 'excess' }]) {
    const wrong = groupValues(
      [
        [10, 0],
        [900, 0],
      ],
      kind,
    )
    t.strictSame(wrong, [null, null], 'all wrong')
    t.strictSame(
      groupValues(
        [
          [10, 0],
          [900, 1],
        ],
        kind,
      ),
      [null, 0],
      'one is right',
    )
    t.strictSame(
      groupValues(
        [
          [7, 1],
          [7, 1],
        ],
        kind,
      ),
      [0, 0],
      'equally long',
    )
    t.strictSame(
      groupValues(
        [
          [0, 1],
          [0, 1],
        ],
        kind,
      ),
      [0, 0],
      'empty',
    )
    t.throws(
      () =>
        groupValues(
          [
            [null, 1],
            [5, 1],
          ],
          kind,
        ),
      /not a length in tokens/,
    )
  }
  t.strictSame(
    groupValues(
      [
        [10, 0],
        [900, 0],
      ],
      { ...kimi, mode: 'published' },
    ),
    [0, -0.5],
  )
})

t.test('group-length: only what is much longer than the others costs, up to a bound', async (t) => {
  const values = groupValues(
    [100, 110, 90, 125, 175, 10_000].map((tokens) => [tokens, 1] as const),
    { kind: 'excess', quantile: 0, slack: 0.5, rate: 0.5, max_penalty: 0.3 },
  )
  t.strictSame(values.slice(0, 4), [0, 0, 0, 0])
  t.ok(Math.abs((values[4] ?? 0) + (0.5 * 40) / 90) < 1e-12)
  t.equal(values[5], -0.3)
})

t.test('overlong-penalty: published penalties fall further above the longest length, or stay', async (t) => {
  const at = (formula: string, tokens: number, buffer = 20) =>
    scored(overlongPenalty, {
      ...long(tokens),
      options: { mode: 'published', formula, max_length: 100, buffer },
    })?.value
  t.strictSame(
    [at('trl', 120), at('verl', 120), at('ms-swift', 120), at('trl', 100, 0), at('trl', 101, 0)],
    [-1, -2, -2, 0, -1],
  )
  t.equal(at('verl', 50, 100), -0.5)
  t.throws(() => at('ms-swift', 50, 100), /buffer below max_length/)
  t.throws(() => at('verl', 50, 0), /is 0/)
})

const told = (answer: string, ...earlier: readonly string[]) => ({
  prompt: [
    { role: 'user', content: 'Where is my parcel?' },
    ...earlier.flatMap((content) => [
      { role: 'assistant', content },
      { role: 'user', content: 'And?' },
    ]),
  ],
  response: answer,
})
const sorry = 'Please wait a moment, I am looking for it.'

t.test('history-repeat keeps its contract', async (t) => {
  ruleContract(t, historyRepeat, {
    full: told('It is in Bonn and comes tomorrow.', sorry),
    zero: told(sorry, 'Good day!', sorry),
    malformed: told(sorry, sorry),
    hacks: {
      'in capitals': told(sorry.toUpperCase(), sorry),
      'with blanks': told(sorry.split('').join(' '), sorry),
      'with invisible characters': told(sorry.split('').join('\u200b'), sorry),
      'with a mark at the end': told(`${sorry}!!`, sorry),
      'with other thinking': told(`<think>Something else entirely.</think>${sorry}`, sorry),
      'from an earlier turn': told(sorry, sorry, 'It is on its way.', 'Are you at home?'),
    },
  })
})

t.test('history-repeat compares with the turns of a rollout too, and not with users', async (t) => {
  const turns = [
    { role: 'assistant', content: sorry },
    { role: 'user', content: 'And?' },
    { role: 'assistant', content: sorry },
  ]
  t.equal(scored(historyRepeat, { response: sorry, turns })?.value, -1)
  t.equal(scored(historyRepeat, { prompt: [{ role: 'user', content: sorry }], response: sorry })?.value, 0)
  t.equal(scored(historyRepeat, { prompt: sorry, response: sorry })?.value, 0)
  t.equal(scored(historyRepeat, told('', ''))?.value, 0)
  const chinese = told('您好，餐已送达。', '餐已送达，您好！')
  t.equal(scored(historyRepeat, chinese)?.value, 0)
  t.equal(scored(historyRepeat, { ...chinese, options: { ngram: 1, threshold: 0.7 } })?.value, -1)
  t.equal(scored(historyRepeat, { ...told(sorry, sorry, 'Yes.'), options: { turns: 1 } })?.value, 0)
})

const classes = { fraud: 3, spam: 1, abuse: 2 }
const labelled = (response: string, groundTruth: Json, options: { [name: string]: Json } = {}) =>
  scored(labelF1, { response, groundTruth, options: { classes, ...options } })?.value

t.test('label-f1 keeps its contract', async (t) => {
  const groundTruth = ['fraud', 'spam']
  ruleContract(t, labelF1, {
    options: { classes },
    full: { response: 'fraud, spam', groundTruth },
    zero: { response: 'none', groundTruth },
    malformed: { response: '<think>fraud, spam', groundTruth },
    hacks: Object.fromEntries(
      [
        'fraud, spam, abuse',
        'fraud, fraud, spam',
        'fraud, spam, none',
        'fraud, spam, whatever',
        'not fraud, spam',
        'fraud or spam',
        'fraud',
        '["fraud", "spam", "spam"]',
      ].map((response) => [response, { response, groundTruth }]),
    ),
  })
})

t.test('label-f1: classes have weights, and errors have costs', async (t) => {
  t.equal(labelled('fraud', ['fraud', 'spam']), 3 / 3.5)
  t.equal(labelled('spam', ['fraud', 'spam']), 1 / 2.5)
  t.equal(labelled('fraud', ['fraud', 'spam'], { fn: 4 }), 3 / 5)
  t.equal(labelled('fraud, abuse', 'fraud', { fp: 3 }), 3 / 6)
  t.equal(labelled('FRAUD.', 'fraud'), 1)
  t.equal(labelled('- fraud\n- spam', ['spam', 'fraud']), 1)
  for (const nothing of [[], 'none']) {
    t.strictSame(
      ['none', '[]', 'fraud', ''].map((answer) => labelled(answer, nothing)),
      [1, 1, 0, 0],
    )
    t.equal(labelled('none', nothing, { tn: 0.2 }), 0.2)
  }
  for (const truth of [null, 'theft', ['fraud', 1]])
    t.throws(() => row(labelF1, { groundTruth: truth, options: { classes } }), JSON.stringify(truth))
  t.throws(() => row(labelF1, { groundTruth: 'a', options: { classes: { a: 1, A: 2 } } }), /label twice/)
  t.throws(() => row(labelF1, { groundTruth: 'a', options: { classes: { a: 1, None: 2 } } }), /classes too/)
  t.equal(labelled('__proto__', 'fraud'), 0)
})
