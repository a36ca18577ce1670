import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Finding, type RewardFunction, RuleTimeout, type Verdict } from '../../src/contract/index.ts'
import { type RowParts, row } from '../../src/contract/testing.ts'
import type { Texts } from './texts.ts'

const graph = {
  nodes: ['Ann', 'Bob', 'Cid', 'Dee'].map((name, id) => ({ id, name })),
  links: [
    [0, 1],
    [1, 2],
    [2, 3],
    [0, 2],
  ].map(([source = 0, target = 0]) => ({ source, target, weight: 10 })),
}
const graphTasks = (names: readonly string[], rest: RowParts): RowParts[] =>
  names.map((dataSource) => ({ ...rest, dataSource }))
const call = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'
const reply = JSON.stringify({
  Thought: '餐已送回。',
  RelevantConstraintRuleNumber: [],
  RelevantKnowledgeNumber: [],
  Response: '客服:可以',
  ResponseSolution: '无',
  DialogueAgreeSolution: '是',
})
const numbers = ['42', '-17', '1/2', '3.5'].map((groundTruth) => ({ groundTruth }))
const arcs = 'The nodes are numbered from 0 to 3, and the edges are: (0->1) (1->2). Order them.'
const question = [{ role: 'user', content: 'Grade {{sample.output_text}} for {{item.answer}}' }]
const isRight = { right: { score: { value: 1 }, texts: [] } }
const item = { answer: '42', reference: 'the cat sat on the mat' }

/** Rows without a response, and pieces of texts that come near a right one. Functions that are not here take numbers. */
const rows: Readonly<Record<string, { rows: readonly RowParts[]; pieces?: readonly string[] }>> = {
  'choice-match': { rows: [{ groundTruth: 'B' }] },
  citations: {
    rows: [{ groundTruth: [1, 'doc-2'] }, { groundTruth: [] }],
    pieces: ['The sky is blue ', '[1]', '[doc-2]', '[1-9]', '[', ']', '【1】', '\n', '`'],
  },
  clrs: { rows: [{ groundTruth: 'trace | [0 1 2]\n\n' }], pieces: ['[0 1 2]', '[2 1 0]', ' | '] },
  'compass-verifier': {
    rows: [{ groundTruth: '42' }, { groundTruth: '42', options: { form: 'cot' } }],
    pieces: ['A', 'B', 'C', 'Final Judgment: ', '\\boxed{A}', ' - CORRECT', '\n'],
  },
  countdown: {
    rows: [{ groundTruth: { target: 24, numbers: [3, 3, 8, 8] } }],
    pieces: ['3', '8', '+', '-', '*', '/', '(', ')', '<answer>', '</answer>'],
  },
  grapharena: {
    rows: graphTasks(
      ['Distance', 'MCP', 'MIS', 'MVC', 'TSP', 'Neighbor', 'Connected', 'Diameter', 'GED', 'MCS'],
      {
        prompt: 'Answer as [A, B].',
        extraInfo: { graph, graph1: graph, graph2: graph, ends: [1, 3], exact_answer: 2 },
      },
    ),
    pieces: ['Ann', 'Bob', 'Cid', 'Dee', '[', ']', ', '],
  },
  graphwiz: {
    rows: [
      ...graphTasks(['cycle', 'connectivity', 'hamilton', 'bipartite', 'substructure'], {
        groundTruth: '### Yes',
        prompt: arcs,
      }),
      ...graphTasks(['flow', 'shortest', 'triplet'], { groundTruth: '### 3', prompt: arcs }),
      ...graphTasks(['topology'], { groundTruth: '### [0,1,2,3]', prompt: arcs }),
    ],
    pieces: ['### ', 'Yes', 'No', '[0,1,2,3]', '3'],
  },
  'instruction-following': {
    rows: [
      {
        'keywords:existence': { keywords: ['42', 'the'] },
        'keywords:frequency': { keyword: 'a', frequency: 2, relation: 'at least' },
      },
      {
        'length_constraints:number_sentences': { num_sentences: 2, relation: 'less than' },
        'change_case:capital_word_frequency': { capital_frequency: 1, capital_relation: 'at least' },
      },
      {
        'detectable_content:postscript': { postscript_marker: 'P.S.' },
        'detectable_format:multiple_sections': { section_spliter: 'Section', num_sections: 2 },
      },
      {
        'language:response_language': { language: 'en' },
        'detectable_format:json_format': {},
        'detectable_format:title': {},
        'combination:two_responses': {},
      },
      {
        'copy:repeat_phrase': { phrase: 'the cat sat', small_n: 1 },
        'keywords:palindrome': {},
        'count:count_unique': {},
        'last_word:last_word_sent': { last_word: 'it' },
      },
      {
        'sentence:alliteration_increment': {},
        'words:last_first': {},
        'ratio:stop_words': { percentage: 50 },
        'format:emoji': {},
        'format:quotes': {},
        'format:parentheses': {},
      },
      {
        'custom:csv_city': {},
        'custom:mcq_count_length': {},
        'custom:reverse_newline': {},
        'format:line_indent': {},
        'format:title_case': {},
      },
    ].map((kinds) => ({
      groundTruth: { instruction_id_list: Object.keys(kinds), kwargs: Object.values(kinds) },
    })),
    pieces: ['Section 1', 'P.S. ', '<<', '>>', '******', 'the cat sat', '. ', '"', "'", '- '],
  },
  'json-schema': {
    rows: [{ options: { schema: { type: 'object', required: ['a'] } } }],
    pieces: ['{"a": ', '1', '}'],
  },
  'math-verify': {
    rows: ['42', '\\frac12', '(1,2)', 'x > 5', '\\{1,2\\}'].map((groundTruth) => ({ groundTruth })),
  },
  'npg-muse': {
    rows: graphTasks(
      [
        'MCP_easy_complicated',
        'TSP_easy_complicated',
        'GED_easy_complicated',
        'MIS_easy_complicated',
        'MVC_easy_complicated',
      ],
      {
        extraInfo: { graph, graph1: graph, graph2: graph, exact_answer: 3 },
      },
    ),
    pieces: ['Ann', 'Bob', 'Cid', 'Dee', '[', ']', ', '],
  },
  'openai-string-check': {
    rows: [
      {
        options: { input: '{{ sample.output_json.answer }}', reference: '{{item.answer}}' },
        extraInfo: item,
      },
    ],
  },
  'openai-text-similarity': {
    rows: [{ options: { reference: '{{item.reference}}', metric: 'rouge_l' }, extraInfo: item }],
    pieces: ['the ', 'cat ', 'sat '],
  },
  'openai-label-model': {
    rows: [
      { options: { input: question, labels: ['good', 'poor'], passing_labels: ['good'] }, extraInfo: item },
    ],
    pieces: ['good', 'poor', '{"result": "', '"}'],
  },
  'openai-score-model': {
    rows: [{ options: { input: question, range: [0, 5] }, extraInfo: item }],
    pieces: ['{"result": ', '3', '}'],
  },
  'math-benchmark': {
    rows: ['gsm8k', 'math', 'aqua'].map((benchmark) => ({ groundTruth: '42', options: { benchmark } })),
  },
  'search-em': {
    rows: [{ groundTruth: { target: ['Paris', 'the city'] } }],
    pieces: ['<answer>', '</answer>', 'Paris', 'the '],
  },
  'search-subem': {
    rows: [{ groundTruth: { target: ['Paris', 'the city'] } }],
    pieces: ['<answer>', '</answer>', 'Paris', 'the '],
  },
  'history-repeat': {
    rows: [
      {
        prompt: [
          { role: 'assistant', content: 'the cat sat on the mat' },
          { role: 'user', content: 'And?' },
        ],
      },
    ],
    pieces: ['the ', 'cat ', 'sat '],
  },
  'label-f1': {
    rows: [{ groundTruth: ['fraud'], options: { classes: { fraud: 3, spam: 1 } } }],
    pieces: ['fraud', 'spam', 'none', ', ', '["', '"]'],
  },
  length: {
    rows: [
      { kind: 'cosine', max_length: 100 },
      { kind: 'target', goal: 50, alpha: 0.01 },
    ].map((options) => ({ options: { ...options, unit: 'words' }, earlier: isRight })),
  },
  'group-length': {
    rows: ['kimi', 'excess'].map((kind) => ({ options: { kind, unit: 'characters' }, earlier: isRight })),
  },
  'overlong-penalty': { rows: [{ options: { max_length: 100, buffer: 20, unit: 'characters' } }] },
  'qa-f1': {
    rows: [
      { groundTruth: ['Paris', '4 July 1776'] },
      { groundTruth: { spans: [['Paris', 'the city'], 'Rome'] } },
    ],
    pieces: ['Paris', 'the ', 'Rome', ', ', ' and ', '4 ', 'July ', '\n- ', '["'],
  },
  'regex-match': { rows: [{ options: { pattern: '(a+)+b|\\d+' } }] },
  'rider-rule': { rows: [{ groundTruth: reply }], pieces: [reply, '"Response"', ':', '"客服:可以"'] },
  'rider-bge': { rows: [{ groundTruth: reply }], pieces: [reply] },
  prometheus: {
    rows: [{ prompt: 'q', options: { criterion: 'Is it right?', scores: ['a', 'b', 'c', 'd', 'e'] } }],
    pieces: ['[RESULT]', ' 5', ' 1', 'Feedback: ', '\n'],
  },
  'rm-r1': { rows: [{ prompt: 'q' }], pieces: ['<answer>', '</answer>', '[[A]]', '[[B]]', '</think>'] },
  qwen3guard: {
    rows: [{ prompt: 'q' }],
    pieces: [
      'Safety: Safe',
      'Safety: Unsafe',
      '\nCategories: None',
      '\nCategories: PII',
      '\nRefusal: No',
      ', ',
    ],
  },
  'llama-guard': { rows: [{ prompt: 'q' }], pieces: ['safe', 'un', '\n', 'S1', ',', 'S14'] },
  'rider-judge': { rows: [{}], pieces: ['{"维度一": 1', '"有害性": 1', '维度二: 0}', ','] },
  'consistency-judge': { rows: [{}], pieces: ['"Thought与Response一致性": 1', '{', '}', ','] },
  'rubric-judge': {
    rows: [
      { groundTruth: [{ text: 'Names it', must: true }] },
      { groundTruth: { rubrics: [{ criterion: 'x', points: -3 }] }, options: { reasons: true, clip: false } },
      { groundTruth: [{ text: 'x', scale: [0, 3] }, { text: 'y' }], options: { ask: 'all' } },
      { groundTruth: [{ text: 'x' }], options: { ask: 'overall' } },
      {
        groundTruth: [{ name: 'x', text: 'x' }],
        options: { mode: 'published', code: 'verifiers' },
      },
      {
        groundTruth: [{ name: 'x', description: 'x', type: 'likert' }],
        options: { mode: 'published', code: 'rewardkit' },
      },
      {
        groundTruth: [{ description: 'x', weight: -1 }],
        options: { mode: 'published', code: 'open_instruct' },
      },
      {
        groundTruth: [{ criterion: 'x', points: 1 }],
        options: { mode: 'published', code: 'healthbench' },
      },
    ],
    pieces: [
      '{"verdicts": [{"name": "x", "reason": "", "verdict": "yes"}]}',
      '{"x": {"score": 3}}',
      '{"score": ',
      '{"criteria_met": true}',
      'yes',
      'no',
      '7',
      '{"c1": ',
      '"c2": ',
      '"yes"',
      '"3"',
      '}',
      '{"reason": "x", "verdict": ',
      ', ',
    ],
  },
  'rubric-judge-group': {
    rows: [
      { groundTruth: [{ text: 'Names it' }] },
      { groundTruth: [{ text: 'x', scale: [0, 3], must: true }] },
    ],
    pieces: ['{"a1": ', '"a2": ', '"yes"', '"no"', '"3"', '}', ', '],
  },
  'tool-call': { rows: [{ groundTruth: call }], pieces: [call] },
  'text-similarity': {
    rows: ['rouge_l', 'sacrebleu', 'chrf++', 'ter'].map((metric) => ({
      groundTruth: 'the cat sat on the mat',
      options: { metric },
    })),
    pieces: ['the ', 'cat ', 'sat '],
  },
  zebralogic: {
    rows: [{ groundTruth: 'Bob' }, { groundTruth: { header: ['House', 'Name'], rows: [['1', 'Bob']] } }],
  },
}

/** Judges that pass on the number of a reply: the gateway refuses those out of range by a kind of failure of their own. */
const passOn = new Set(['openai-score-model'])

interface Target {
  readonly name: string
  /** Judges a text; throws what the function throws. Gives what is wrong with the verdict, or null. */
  try(text: string): string | null
  readonly pieces: readonly string[]
}

/** Each shipped function with each of its rows: a rule by the response, a judge by what the model replies. */
export async function functionTargets(folder: string): Promise<{ targets: Target[]; without: string[] }> {
  const targets: Target[] = []
  const without: string[] = []
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .sort()) {
    const name = basename(file, '.js')
    const fn = ((await import(join(folder, file))) as { default: RewardFunction }).default
    const known = rows[name] ?? rows[name.replace(/-(?:boxed|revised|of-n)$/u, '')]
    const before = targets.length
    for (const parts of known?.rows ?? [...numbers, {}]) {
      const check = judgeOf(fn, parts, passOn.has(name))
      if (check) targets.push({ name, pieces: known?.pieces ?? [], try: check })
    }
    if (targets.length === before) without.push(name)
  }
  return { targets, without }
}

function judgeOf(
  fn: RewardFunction,
  parts: RowParts,
  passesOn: boolean,
): ((text: string) => string | null) | null {
  try {
    const built = row(fn as never, { prompt: 'What is right?', response: '1', ...parts }) as never
    const options = fn.options.parse(parts.options ?? {})
    const [low, high] = fn.range(options)
    const wrong = (verdict: Verdict): string | null => {
      if (verdict === null) return null
      const value = typeof verdict === 'number' ? verdict : verdict.value
      const shares = typeof verdict === 'number' ? [] : Object.entries(verdict.parts ?? {})
      const stray = shares.find(
        ([name, share]) => !Number.isFinite(share) || !fn.parts(options).includes(name),
      )
      if (stray) return `part ${stray}`
      if (passesOn ? Number.isFinite(value) : value >= low && value <= high) return null
      return `${value} is out of ${low} to ${high}`
    }
    const rowOf = (response: string) =>
      ({ ...(built as object), sample: { ...(built as { sample: object }).sample, response } }) as never
    if (fn.kind === 'rule') return (text) => wrong(fn.score(rowOf(text)))
    if (fn.kind === 'group-rule')
      return (text) =>
        fn
          .score([rowOf(text), built])
          .map(wrong)
          .find((said) => said !== null) ?? null
    const answer = (text: string) => ({ text, finishReason: 'stop' }) as never
    if (fn.kind === 'pair') return (text) => wrong(fn.rm_postprocess(answer(text), built, built))
    if (fn.kind === 'list')
      return (text) =>
        fn
          .rm_postprocess(answer(text), [built, built])
          ?.map(wrong)
          .find((said) => said !== null) ?? null
    // Its answers are probabilities, which no text becomes.
    if (fn.kind === 'questions' && fn.ask === 'decide') return null
    if (fn.kind === 'questions' || fn.kind === 'group-questions')
      return (text) => {
        const found = (
          fn.kind === 'questions'
            ? fn.rm_postprocess(answer(text), rowOf(text), 0)
            : fn.rm_postprocess(answer(text), [rowOf(text), built], 0)
        )?.map((score): Finding => {
          if (score === null) return { status: 'missing', kind: 'judge_unparseable' }
          return {
            status: 'scored',
            score: typeof score === 'number' ? { value: score } : score,
            draws: 1,
            spread: 0,
          }
        })
        if (!found) return null
        if (fn.kind === 'questions') return wrong(fn.combine([found], rowOf(text)) ?? null)
        const all = fn.combine([found], [rowOf(text), built]) ?? []
        return all.map(wrong).find((said) => said !== null) ?? null
      }
    if (fn.kind === 'program' || fn.ask !== 'generate') return null
    return (text) => {
      fn.rm_preprocess(rowOf(text))
      return wrong(fn.rm_postprocess?.(answer(text), built) ?? null)
    }
  } catch {
    // The row does not fit this function.
    return null
  }
}

/** Milliseconds of CPU that a text of some hundred characters may take. */
const mostMs = 50

/**
 * What is wrong: a throw other than a rule's own limit of time, a verdict that its declaration forbids, or more CPU than such a text may
 * take each of three times (the first also compiles).
 */
export function fuzzFunctions(targets: readonly Target[], texts: Texts, count: number) {
  const faults: string[] = []
  let slowestMs = 0
  let slowest = ''
  for (let k = 0; k < count; k++) {
    const target = targets[k % targets.length] as Target
    const text = texts.text(target.pieces)
    const first = tried(target, text)
    if (first.wrong !== null) faults.push(`${target.name}: ${first.wrong} for ${JSON.stringify(text)}`)
    if (first.ms <= Math.min(mostMs, slowestMs)) continue
    const ms = Math.min(first.ms, tried(target, text).ms, tried(target, text).ms)
    if (ms > mostMs)
      faults.push(
        `${target.name}: ${Math.round(ms)} ms of CPU for ${text.length} characters: ${JSON.stringify(text)}`,
      )
    if (ms > slowestMs) [slowestMs, slowest] = [ms, `${target.name}: ${JSON.stringify(text).slice(0, 200)}`]
  }
  return { faults, slowestMs, slowest }
}

function tried(target: Target, text: string): { wrong: string | null; ms: number } {
  const { user } = process.cpuUsage()
  const took = () => (process.cpuUsage().user - user) / 1000
  try {
    const wrong = target.try(text)
    return { wrong, ms: took() }
  } catch (error) {
    return { wrong: error instanceof RuleTimeout ? null : String(error), ms: took() }
  }
}
