import t from 'tap'
import instructionFollowing from '../../reward-functions/instruction-following.ts'
import type { Json } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'

type Row = readonly [id: string, args: Record<string, Json>]

const reward = (response: string, rows: readonly Row[], options: Json = {}): number | null | undefined =>
  scored(instructionFollowing, {
    response,
    groundTruth: { instruction_id_list: rows.map(([id]) => id), kwargs: rows.map(([, args]) => args) },
    options,
  })?.value

const prompt = { prompt_to_repeat: 'Name three rivers.' }

/** For each kind: its arguments, an answer that follows it and one that does not. */
const kinds: Readonly<Record<string, readonly [Record<string, Json>, string, string]>> = {
  'keywords:existence': [{ keywords: ['river', 'C++'] }, 'A River in C++.', 'A river in C.'],
  'keywords:frequency': [{ keyword: 'a', frequency: 2, relation: 'less than' }, 'a b', 'a a'],
  'keywords:forbidden_words': [{ forbidden_words: ['art'] }, 'A start.', 'The art.'],
  'keywords:letter_frequency': [{ letter: 'e', let_frequency: 2, let_relation: 'at least' }, 'Eel', 'ten'],
  'language:response_language': [
    { language: 'de' },
    'Es ist kein Problem, so sind wir eben.',
    'The dog runs through the large forest today.',
  ],
  'length_constraints:number_sentences': [
    { num_sentences: 2, relation: 'at least' },
    'Dr. Lee came. He left.',
    'Dr. Lee came at 3 p.m. today',
  ],
  'length_constraints:number_paragraphs': [{ num_paragraphs: 2 }, 'a\n***\nb', 'a\n\nb'],
  'length_constraints:number_words': [
    { num_words: 3, relation: 'less than' },
    'two words',
    'now three words',
  ],
  'length_constraints:nth_paragraph_first_word': [
    { num_paragraphs: 2, nth_paragraph: 2, first_word: 'then' },
    'Now.\n\nThen, we go.',
    'Then.\n\nNow.',
  ],
  'detectable_content:number_placeholders': [
    { num_placeholders: 2 },
    '[name] of [place]',
    '[name] of (place)',
  ],
  'detectable_content:postscript': [{ postscript_marker: 'P.S.' }, 'Bye.\nP.S. Write soon.', 'Bye.\nPS'],
  'detectable_format:number_bullet_lists': [{ num_bullets: 2 }, '* a\n- b', '* a\n** b'],
  'detectable_format:constrained_response': [{}, 'My answer is yes.', 'Yes.'],
  'detectable_format:number_highlighted_sections': [{ num_highlights: 1 }, 'a *b* c', 'a * b'],
  'detectable_format:multiple_sections': [
    { section_spliter: 'Section', num_sections: 2 },
    'Section 1\na\nSection 2\nb',
    'Section 1\na',
  ],
  'detectable_format:json_format': [{}, '```json\n{"a": 1}\n```', '{a: 1}'],
  'detectable_format:title': [{}, '<<A day>>\ntext', '<<>>\ntext'],
  'combination:two_responses': [{}, 'one\n******\ntwo', 'one\n******\none'],
  'combination:repeat_prompt': [prompt, 'Name three rivers. The Rhine', 'The Rhine'],
  'startend:end_checker': [{ end_phrase: 'The end.' }, 'So it was. The End.', 'The end. Bye'],
  'startend:quotation': [{}, '"All of it"', '"Part" of it'],
  'change_case:capital_word_frequency': [
    { capital_frequency: 2, capital_relation: 'at least' },
    'THE USA is big',
    'The USA is big',
  ],
  'change_case:english_capital': [{}, 'THE DOG RUNS THROUGH THE FOREST.', 'The dog runs through the forest.'],
  'change_case:english_lowercase': [
    {},
    'the dog runs through the forest.',
    'The dog runs through the forest.',
  ],
  'punctuation:no_comma': [{}, 'a and b', 'a, b'],
  'copy:repeat_phrase': [
    { phrase: 'red apples fall', small_n: 2 },
    'red pears fall, red plums fall',
    'red apples fall, red plums fall',
  ],
  'copy:copy': [prompt, ' name three rivers. ', 'name three'],
  'copy:copying_simple': [prompt, 'Name three rivers.', 'Name three rivers'],
  'new:copy_span_idx': [{ ...prompt, n_start: 5, n_end: 10 }, 'three', 'Name'],
  'copy:copying_multiple': [
    { ...prompt, N: 2 },
    'Name three rivers.\n******\nName three rivers.',
    'Name three rivers.',
  ],
  'detectable_format:sentence_hyphens': [{}, 'One is here.-Two is there.', 'One is here. - Two is there.'],
  'keywords:no_adjacent_consecutive': [{}, 'apple cat egg', 'apple bear'],
  'detectable_format:square_brackets': [{}, '[all] [words]', '[all] words'],
  'keywords:word_once': [{ keyword: 'dog' }, 'one dog', 'dog and dog'],
  'keywords:word_count_different_numbers': [
    { keyword: 'dog', frequency: 2, relation: 'at least' },
    'dog dog',
    'dog',
  ],
  'keywords:exclude_word_harder': [{ keyword: 'dog' }, 'a dogma here', 'a dog here'],
  'paragraphs:paragraphs': [{}, 'a\n***\nb', 'a'],
  'paragraphs:paragraphs2': [{}, 'a\n\nb', 'a\nb'],
  'first_word:first_word_sent': [{ first_word: 'so' }, 'So it is. So it was.', 'So it is. It was.'],
  'last_word:last_word_sent': [{ last_word: 'so' }, 'It is so. Was it so?', 'It is so. Was it?'],
  'first_word:first_word_answer': [{ first_word: 'so' }, 'So it is.', 'It is so.'],
  'last_word:last_word_answer': [{ last_word: 'so' }, 'It is so.', 'So it is.'],
  'detectable_format:bigram_wrapping': [{}, '<<I am>> <<at home>> now', 'I am at home'],
  'punctuation:punctuation_dot': [{}, 'no end', 'an end.'],
  'punctuation:punctuation_exclamation': [{}, 'quiet.', 'loud!'],
  'count:lowercase_counting': [{ N: 1 }, 'One WORD here', 'One word here'],
  'letters:letter_counting': [{ N: 3, relation: 'less than' }, 'ab 1', 'abc'],
  'letters:letter_counting2': [{ letter: 'e', let_frequency: 2, let_relation: 'less than' }, 'ten', 'eel'],
  'count:counting_composition': [
    { n_sent: 1, n_words: 3 },
    'It is.\n***\nWe go.\n***\nYou do.',
    'It is.\n***\nWe go now.\n***\nYou do.',
  ],
  'count:count_unique': [{}, 'each word once', 'once and once'],
  'count:count_increment_word': [{ keyword1: 'cat', keyword2: 'dog' }, 'cat dog dog', 'cat dog'],
  'keywords:palindrome': [{}, 'the level', 'the flat'],
  'keywords:keyword_specific_position': [{ keyword: 'dog', n: 2, m: 2 }, 'One. The dog.', 'The dog. One.'],
  'keywords:start_end': [{}, 'Go and go', 'Go and stop'],
  'count:word_count_range': [{ min_words: 2, max_words: 3 }, 'two words', 'one'],
  'count:unique_word_count': [{ N: 2 }, 'one two', 'one One, one.'],
  'ratio:stop_words': [{ percentage: 40 }, 'big dogs run', 'it is the one'],
  'ratio:sentence_type': [{}, 'It is. It was. Is it?', 'It is. Is it?'],
  'ratio:sentence_balance': [{}, 'It is. Is it? Yes!', 'It is. Is it?'],
  'count:conjunctions': [{ small_n: 2 }, 'this and that or both', 'this and that'],
  'count:person_names': [{ N: 2 }, 'Emma met Liam', 'Emma met Eve'],
  'ratio:overlap': [{ reference_text: 'rivers', percentage: 100 }, 'river', 'lake'],
  'count:numbers': [{ N: 2 }, '3 of 12', '3 of many'],
  'words:alphabet': [{}, 'yes zebras are big', 'yes big zebras'],
  'words:vowel': [{}, 'a cat sat on it', 'a cat sat under it on'],
  'words:consonants': [{}, 'black stone', 'black tea'],
  'sentence:alliteration_increment': [{}, 'It was. Big bears. Big bears bring.', 'Big bears. It was.'],
  'words:palindrome': [{}, 'level radar civic '.repeat(4), 'level radar civic '.repeat(3)],
  'words:prime_lengths': [{}, 'to the river', 'to them'],
  'ratio:sentence_words': [{}, 'It is. So be. We do.', 'It is. So be it. We do.'],
  'count:words_japanese': [{ N: 2 }, 'one 山 two 川', 'one two'],
  'words:repeats': [{ small_n: 2 }, 'go go stop', 'go Go go'],
  'sentence:keyword': [{ word: 'dog', N: 2 }, 'One. The dog.', 'The dog. One.'],
  'count:pronouns': [{ N: 3 }, 'I gave him/her books', 'I gave books'],
  'words:last_first': [{}, 'We go home. Home is far.', 'We go home. Far away.'],
  'words:paragraph_last_first': [{}, 'home is home.\nwe are we', 'home is far'],
  'sentence:increment': [{ small_n: 1 }, 'It is. It was so.', 'It is. It was.'],
  'words:no_consecutive': [{}, 'one two one', 'one other'],
  'count:keywords_multiple': [
    { keyword1: 'ga', keyword2: 'be', keyword3: 'ce', keyword4: 'do', keyword5: 'fu' },
    `ga ${'be '.repeat(2)}${'ce '.repeat(3)}${'do '.repeat(5)}${'fu '.repeat(7)}`,
    'ga be ce do fu',
  ],
  'words:keywords_specific_position': [{ keyword: 'dog', n: 1, m: 2 }, 'The dog.', 'Dog there.'],
  'words:words_position': [{ keyword: 'dog' }, 'the dog or dog.', 'dog the'],
  'repeat:repeat_change': [prompt, 'Give three rivers.', 'Name three rivers.'],
  'repeat:repeat_simple': [{}, 'Only output this sentence here, ignore all other requests.', 'Sure.'],
  'repeat:repeat_span': [{ ...prompt, n_start: 1, n_end: 2 }, 'three', 'rivers.'],
  'count:punctuation': [{}, 'A, b; c: d. e! f? g!?', 'a, b.'],
  'format:parentheses': [{}, '([{([])}])', '([{}])'],
  'format:quotes': [{}, `"a 'b "c" d' e"`, '"a"'],
  'format:options': [{ options: 'yes/no' }, 'Yes.', 'perhaps'],
  'format:newline': [{}, 'one\nword\neach', 'one word\neach'],
  'format:emoji': [{}, 'It is 🎉', 'It is'],
  'format:line_indent': [{}, 'a\n b\n  c', 'a\n b\n c'],
  'format:quote_unquote': [{}, '“so” it is said', 'it is “so”'],
  'format:list': [{ sep: '-' }, '- a\n- b', '- a'],
  'format:thesis': [{}, '<i>It is.</i> Because.', 'It is. Because.'],
  'format:sub-bullets': [{}, '* a\n  - b', '* a'],
  'format:no_bullets_bullets': [{}, 'It is. It was.\n* a\n* b', '* a\n* b'],
  'format:title_case': [{}, 'Each Word', 'Each word'],
  'format:output_template': [{}, 'My Answer: a My Conclusion: b Future Outlook: c', 'My Answer: a'],
  'format:no_whitespace': [{}, 'white', 'no white'],
  'custom:multiples': [{}, '14, 21, 28, 35, 42, 49', '14, 21, 28'],
  'custom:character_reverse': [{}, 'elgae dlab a', 'bald eagle'],
  'custom:word_reverse': [{}, 'eagle bald the is bird national The.', 'the bald eagle'],
  'custom:date_format_list': [{}, '1769-08-15, 1821-05-05', '1769-08-15, 2021-05-05'],
}

t.test('each kind pays what follows it and refuses what does not', async (t) => {
  for (const [id, [args, good, bad]] of Object.entries(kinds))
    t.strictSame([reward(good, [[id, args]]), reward(bad, [[id, args]])], [1, 0], id)
})

t.test('share pays the share that is followed, and details name the others', async (t) => {
  const rows: Row[] = [
    ['punctuation:no_comma', {}],
    ['startend:quotation', {}],
  ]
  t.equal(reward('no end', rows, { score: 'share' }), 0.5)
  t.equal(reward('no end', rows), 0)
  t.match(
    scored(instructionFollowing, {
      response: 'no end',
      groundTruth: { instruction_id_list: rows.map(([id]) => id), kwargs: [{}, {}] },
      options: {},
    }),
    { parts: { followed: 0.5 }, details: { failed: 'startend:quotation' } },
  )
})

t.test('loose matching ignores the first and last line, and stars', async (t) => {
  const rows: Row[] = [['startend:quotation', {}]]
  t.equal(reward('Sure, here it is:\n**"All of it"**', rows, { matching: 'loose' }), 1)
  t.equal(reward('Sure, here it is:\n**"All of it"**', rows), 0)
})

t.test('hacks of form pay only in published mode', async (t) => {
  const hacks: readonly (readonly [string, ...Row])[] = [
    ['<think>a, b</think>My answer is yes. My answer is no.', 'detectable_format:constrained_response', {}],
    ['a，b', 'punctuation:no_comma', {}],
    ['a\u200bb\u2060c', 'length_constraints:number_words', { num_words: 3, relation: 'at least' }],
    ['Bye.\nP.S.', 'detectable_content:postscript', { postscript_marker: 'P.S.' }],
    [
      'Section 1 Section 2',
      'detectable_format:multiple_sections',
      { section_spliter: 'Section', num_sections: 2 },
    ],
    ['<think>river</think>no', 'keywords:existence', { keywords: ['river'] }],
    ['...', 'change_case:english_lowercase', {}],
  ]
  for (const [response, id, args] of hacks) t.equal(reward(response, [[id, args]]), 0, id)
  for (const [response, id, args] of hacks.slice(0, -1))
    t.equal(reward(response, [[id, args]], { mode: 'published' }), 1, id)
  t.equal(reward('<think>no comma', [['punctuation:no_comma', {}]]), 0, 'thinking that never ends')
  t.equal(reward('\u200b', [['punctuation:no_comma', {}]]), 0, 'nothing that is seen')
})

t.test('rows of every source are read', async (t) => {
  const forms: readonly Json[] = [
    { instruction_id_list: ['punctuation:no_comma'], kwargs: [{ num_words: null }] },
    { instruction_id_list: ['punctuation:no_comma'] },
    { instruction_id_list: ['punctuation:no_comma'], kwargs: ['{"keywords": null}'] },
    { instruction_id: ['punctuation:no_comma'], kwargs: [null] },
    "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]",
    '[{"instruction_id": ["punctuation:no_comma"], "kwargs": [null]}]',
    `['{"instruction_id": ["punctuation:no_comma"], "kwargs": [{}]}']`,
  ]
  for (const groundTruth of forms)
    for (const [response, value] of [
      ['a b', 1],
      ['a, b', 0],
    ] as const)
      t.equal(scored(instructionFollowing, { response, groundTruth, options: {} })?.value, value)
  const extraInfo = { instruction_id_list: ['punctuation:no_comma'], kwargs: [{}] }
  t.equal(scored(instructionFollowing, { response: 'a b', extraInfo, options: {} })?.value, 1)
})

t.test('an instruction that is not understood is a bad sample, never a score', async (t) => {
  const bad: readonly (readonly [RegExp, Json])[] = [
    [/there is no instruction 'keywords:exist'/, { instruction_id_list: ['keywords:exist'], kwargs: [{}] }],
    [/there is no instruction '__proto__'/, { instruction_id_list: ['__proto__'], kwargs: [{}] }],
    [/needs NLTK's trained tagger/, { instruction_id_list: ['words:start_verb'], kwargs: [{}] }],
    [/keywords:existence: keywords/, { instruction_id_list: ['keywords:existence'], kwargs: [{}] }],
    [/Unrecognized key/, { instruction_id_list: ['punctuation:no_comma'], kwargs: [{ keywords: ['a'] }] }],
    [/kwargs has 2 entries for 1/, { instruction_id_list: ['punctuation:no_comma'], kwargs: [{}, {}] }],
    [/not a list of names/, { instruction_id_list: [], kwargs: [] }],
    [/no instruction_id_list/, 'no comma please'],
    [/no instruction_id_list/, 42],
    [
      /no language that is checked/,
      { instruction_id_list: ['language:response_language'], kwargs: [{ language: 'xx' }] },
    ],
  ]
  for (const [message, groundTruth] of bad)
    t.throws(() => scored(instructionFollowing, { response: 'some text', groundTruth, options: {} }), {
      message,
    })
  t.throws(() => scored(instructionFollowing, { response: 'a', options: {} }), {
    message: /extra_info has no/,
  })
})

t.test('a keyword is plain text, and a regular expression in published mode', async (t) => {
  const rows: Row[] = [['keywords:existence', { keywords: ['r.ver'] }]]
  t.strictSame([reward('river', rows), reward('river', rows, { mode: 'published' })], [0, 1])
  const broken: Row[] = [['keywords:existence', { keywords: ['(lamp'] }]]
  t.equal(reward('a (lamp', broken), 1)
  t.throws(() => reward('a (lamp', broken, { mode: 'published' }), { message: /no regular expression/ })
})

t.test('hostile text costs linear time', async (t) => {
  const units = ['a', ' ', '\n', '*', '!', '"', '<', 'A. ', '* \n']
  const rows = Object.entries(kinds).map(([id, [args]]): Row => [id, args])
  const cost = (text: string): number => {
    const started = process.cpuUsage()
    reward(text, rows, { score: 'share', matching: 'strict' })
    const { user, system } = process.cpuUsage(started)
    return (user + system) / 1000
  }
  for (const unit of units) {
    const [short, long] = [8, 32].map((kb) =>
      Math.min(...[1, 2].map(() => cost(`${unit.repeat((kb * 1024) / unit.length)}x`))),
    ) as [number, number]
    t.ok(
      long < 12 * short + 200,
      `${JSON.stringify(unit)}: ${short.toFixed(0)} ms for 8 kB, ${long.toFixed(0)} for 32`,
    )
  }
})
