import t from 'tap'
import exactMatch from '../../reward-functions/exact-match.ts'
import formatTags from '../../reward-functions/format-tags.ts'
import geo3k from '../../reward-functions/geo3k.ts'
import npgMuse from '../../reward-functions/npg-muse.ts'
import riderBge from '../../reward-functions/rider-bge.ts'
import riderRule from '../../reward-functions/rider-rule.ts'
import textSimilarity from '../../reward-functions/text-similarity.ts'
import toolCall from '../../reward-functions/tool-call.ts'
import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import { row, scored } from '../../src/contract/testing.ts'
import { isBlank } from '../../src/grading/index.ts'

/** Characters that show nothing, one of each kind. */
const invisible: Readonly<Record<string, string>> = {
  'zero width space': '\u200b',
  'word joiner': '\u2060',
  'byte order mark': '\ufeff',
  'soft hyphen': '\u00ad',
  'Arabic letter mark': '\u061c',
  'combining grapheme joiner': '\u034f',
  'Hangul filler': '\u3164',
  'half-width Hangul filler': '\uffa0',
  'Hangul choseong filler': '\u115f',
  'Khmer inherent vowel': '\u17b4',
  'Mongolian vowel separator': '\u180e',
  'Braille blank': '\u2800',
  'variation selector': '\ufe0f',
  'supplementary variation selector': '\u{e0100}',
  'tag characters': '\u{e0041}\u{e007f}',
  'right-to-left override': '\u202e',
  'object replacement': '\ufffc',
  'interlinear anchor': '\ufff9',
  'musical null notehead': '\u{1d159}',
  'a combining mark alone': '\u0301',
  'private use': '\ue000',
  'unassigned character': '\u0378',
  NUL: '\0',
  'bell and escape': '\x07\x1b',
  'next line': '\x85',
  'no-break space': '\u00a0',
  'ideographic space': '\u3000',
  'line separator': '\u2028',
  'lone surrogate': '\ud800',
}

const target = {
  Thought: '商家说餐已送回，可以通过。',
  RelevantConstraintRuleNumber: [2],
  RelevantKnowledgeNumber: [8],
  Response: '客服:已为您核实。',
  ResponseSolution: '通过',
  DialogueAgreeSolution: '是',
}
const groundTruth = JSON.stringify(target)
const riderReply = (text: string): string => JSON.stringify({ ...target, Response: `客服:${text}` })
const call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
const graph = { nodes: [{ id: 0, name: 'Ann' }], links: [] }

/** What a function pays for a response with this text at the place where it asks for one. */
const places: Readonly<Record<string, (text: string) => number | undefined>> = {
  'format-tags, thinking': (text) =>
    scored(formatTags, { response: `<think>${text}</think><answer>42</answer>` })?.value,
  'format-tags, answer': (text) =>
    scored(formatTags, { response: `<think>a</think><answer>${text}</answer>` })?.value,
  'geo3k, thinking': (text) =>
    scored(geo3k, { response: `<think>${text}</think>\\boxed{5}`, groundTruth: '5' })?.value,
  'geo3k, box': (text) =>
    scored(geo3k, { response: `<think>a</think>\\boxed{${text}}`, groundTruth: '5' })?.parts?.format,
  'npg-muse, thinking': (text) => museForm(`<think>\n${text}</think>[Ann]`),
  'npg-muse, answer': (text) => museForm(`<think>\na</think>${text}`),
  'tool-call, thinking': (text) =>
    scored(toolCall, {
      response: `<think>${text}</think>${call}`,
      groundTruth: call,
      options: { variant: 'egpo' },
    })?.value,
  'rider-rule, reply': (text) =>
    scored(riderRule, { response: riderReply(text), groundTruth })?.parts?.response,
  'exact-match, ne': (text) =>
    scored(exactMatch, { response: text, groundTruth: 'Paris', options: { operation: 'ne' } })?.value,
}

const museForm = (response: string): number | undefined =>
  scored(npgMuse, {
    dataSource: 'MIS_binary_format',
    response,
    prompt: '',
    extraInfo: { graph, exact_answer: 1 },
  })?.parts?.format_accuracy

for (const [place, value] of Object.entries(places)) {
  t.test(`${place}: invisible text is no text`, async (t) => {
    for (const [name, text] of Object.entries(invisible)) t.notOk(value(text.repeat(3)), name)
  })
  t.test(`${place}: visible text is text`, async (t) => {
    for (const text of ['a', '是', '5', '😀', 'é', '\u200bя']) t.ok(value(text) !== value(''), text)
  })
}

t.test('a character is invisible to all readers or to none', async (t) => {
  const ignorable = /\p{Default_Ignorable_Code_Point}|\p{White_Space}|\p{C}/u
  for (let point = 0; point < 0x110000; point++) {
    const text = String.fromCodePoint(point)
    if (ignorable.test(text) && !isBlank(text)) t.fail(`U+${point.toString(16)}`)
  }
  t.notOk(isBlank('e\u0301'))
})

t.test('format-tags: invisible text outside of the tags is no text either', async (t) => {
  t.equal(scored(formatTags, { response: '\ufeff<think>a</think>\u200b<answer>42</answer>\0' })?.value, 1)
})

t.test('rider-bge and yes-no-judge: invisible text is scored 0 without a call', async (t) => {
  for (const [name, text] of Object.entries(invisible)) {
    t.equal(yesNoJudge.rm_preprocess(row(yesNoJudge, { response: text })), 0, name)
    const reply = JSON.stringify({ ...target, Response: text })
    t.equal(riderBge.rm_preprocess(row(riderBge, { response: reply, groundTruth })), 0, name)
  }
})

t.test('text-similarity: an invisible ground truth has nothing to compare', async (t) => {
  for (const [name, text] of Object.entries(invisible))
    t.throws(() => row(textSimilarity, { groundTruth: text, options: { metric: 'fuzzy_match' } }), name)
})
