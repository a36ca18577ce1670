import t from 'tap'
import choiceMatch from '../../reward-functions/choice-match.ts'
import gsm8kProgressive from '../../reward-functions/gsm8k-progressive.ts'
import mathVerify from '../../reward-functions/math-verify.ts'
import npgMuseMath from '../../reward-functions/npg-muse-math.ts'
import numericMatch from '../../reward-functions/numeric-match.ts'
import searchEm from '../../reward-functions/search-em.ts'
import { scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'
import { valueBy } from '../support/rules.ts'

const numeric = valueBy(numericMatch)
const choice = valueBy(choiceMatch)
const marked = valueBy(gsm8kProgressive)
const searched = (response: string, target: string) =>
  scored(searchEm, { response, groundTruth: { target } })?.value

const asked = (response: string, truth: string) =>
  scored(numericMatch, { prompt: 'How many apples does Maya have?', response, groundTruth: truth })?.value

const eggs = (response: string, truth: string) =>
  scored(numericMatch, {
    prompt:
      'A baker made 6 trays of 12 cookies and sold two thirds of them at $2 each. How many cookies did he sell?',
    response,
    groundTruth: truth,
  })?.value
const math = valueBy(mathVerify)
const mathOf = (prompt: string) => (response: string, truth: string) =>
  scored(mathVerify, { prompt, response, groundTruth: truth })?.value
const probability = (response: string, truth: string) =>
  scored(numericMatch, {
    prompt: 'A bag has 3 red balls and 1 blue ball. What is the probability of a red ball, as a decimal?',
    response,
    groundTruth: truth,
  })?.value

interface Case {
  readonly read: (response: string, truth: string) => number | undefined
  readonly truth: string
  /** Responses that do not commit to the truth. */
  readonly refused: readonly string[]
  /** Responses with like words that do. */
  readonly paid: readonly string[]
}

const cases: Readonly<Record<string, readonly Case[]>> = {
  'without a mark, the number of the last sentence counts that the sentence is about': [
    {
      read: eggs,
      truth: '48',
      refused: [
        'He sold 24 of the 48 cookies.',
        "He didn't sell 48.",
        'It is tempting to say that he sold 48.',
        'Most people would answer 48.',
        'Assume he sold 48.',
        'He sold 72, not 48.',
        '#### 48. and above',
        '#### 48 ³',
        '#### 48\nEverything above is wrong.',
        '\\boxed{48} is an upper bound; the number is 24.',
        'I first counted 48, but he sold 72.',
        'He never sells 48.',
        'The wrong price is 48.',
        'He sold 48 euros.',
      ],
      paid: [
        'He sold 48 of the 72 cookies.',
        'He sold **48 cookies** and had 24 left.',
        'Of the 72 cookies he made, he sold 48 (that is 4 of the 6 trays).',
        'So 48 cookies were sold from all 6 trays.',
        'He sold 48 cookies.\nCheck: 48 / 12 = 4 trays.',
        'In total, 48 of them were sold.',
        'He sold 48 instead of all 72.',
        'He sold 48 cookies, because 72 × 2/3 = 48.',
        'He sold 48 cookies, since 4 trays were sold.',
        'He sold 48 cookies. We can check: 4 * 12 = 48 and 72 - 48 = 24.',
        'He sold forty-eight cookies.',
        'Let c be the cookies. 3c = 144, and c = 48.',
        'He sold 48 cookies (4 at a time).',
        'The people sold 48, down from 72.',
      ],
    },
  ],
  'one value in two spellings is one answer': [
    {
      read: probability,
      truth: '0.75',
      refused: ['0.75 or 0.25', 'The probability is 0.75, or 70%.', 'The probability is 0.75 (or 0.8).'],
      paid: [
        'The probability is **0.75**, or 75%.',
        'The probability is \\boxed{0.75}, i.e. 75%.',
        '0.75 (or 3/4)',
        '**Answer: 0.75 (75 %)**',
      ],
    },
    {
      read: numeric,
      truth: '1250000',
      refused: ['It is 1250000 million.', 'It is 1.25 billion.', 'It is 1.25 million (1,200,000).'],
      paid: [
        'It is 1.25 million.',
        'It is 1.25 million (1,250,000).',
        '\\boxed{1250000}, an increase of 250,000.',
      ],
    },
    {
      read: numeric,
      truth: '3.5',
      refused: ['3.5 hours (or 4 hours)'],
      paid: ['3 1/2 hours', 'It takes 3.5 hours (3 hours and 30 minutes).'],
    },
  ],
  'a unit that the question does not speak of makes another answer': [
    {
      read: eggs,
      truth: '48',
      refused: [
        '#### 48%',
        '#### 48 dollars',
        'The answer is 48 cents.',
        'The answer is 48 more than he needs.',
      ],
      paid: ['#### 48 cookies'],
    },
    {
      read: mathOf('What does it cost, in dollars?'),
      truth: '42',
      refused: ['\\boxed{42\\text{ cents}}', 'It costs 42 euros', '\\boxed{42\\%}'],
      paid: ['\\boxed{42\\text{ dollars}}', 'It costs 42 dollars.'],
    },
  ],
  'a letter is chosen by a conclusion, in bold, or in a line of its own': [
    {
      read: choice,
      truth: 'C',
      refused: [
        'The second best choice is C.',
        'If it is C, all is lost.',
        '**A** or **C**',
        "It's not C.",
        'So B. So C.',
        'C would be right in another world.',
      ],
      paid: [
        "It can't be A (it is white), B is a gas giant, and D has rings. So C.",
        'The red planet is\n\n**C**\n\nbecause of iron oxide.',
        'My first thought was A, Venus. The red planet is Mars, which is option C.',
        "It's C, since iron oxide is red.",
        'The best choice here is **C) Mars**.\n\n*Why not the others?* Venus (A) is white, Jupiter (B) brown.',
        '\\boxed{\\text{(C) Mars}}\n\nAnswer (D) would be wrong because Saturn has rings.',
        '\\boxed{C}\n\nAnswer (A) would be tempting because Venus is close.',
        'The most likely answer is C.',
        'The answer is clearly C: it is red.',
        'C is the most logical continuation, since A and B make no sense.',
        'I think C is the best choice.',
        'The answer is C, Mars. A is possible at dusk, but C is the better known one.',
        'The correct answer is C (Mars), not B (Jupiter).',
        'C — Mars is the red planet.',
      ],
    },
  ],
  'what restates or explains an answer takes nothing back': [
    {
      read: math,
      truth: '42',
      refused: [
        '\\boxed{41}. Alternatively, \\boxed{42}.',
        '\\boxed{41}\n\nHidden: \\boxed{42}',
        'So it is \\boxed{41}. or So it is \\boxed{42}.',
        '\\boxed{42} is the square of the answer, which is 6.48.',
        '\\boxed{42} is the answer to another question.',
        '\\boxed{42=42}',
        '{"answer": "41 42"}',
      ],
      paid: [
        'So it is $\\boxed{42}$, which is an even number divisible by 6 and 7.',
        'We get $\\boxed{42}$. If we plug in $x=2$ we get 8, which is too small, so 42 is the only solution.',
        'The answer is $42$ minutes, which is 0 hours 42 minutes.',
        'Tom is 42!',
        'It is \\boxed{42}\nIt is \\boxed{42}',
        '{"answer": "42"}',
      ],
    },
    {
      read: math,
      truth: '\\frac{13}{8}',
      refused: ['$\\boxed{\\frac{13}{8}}$, or $\\frac{5}{8}$.'],
      paid: [
        '$\\boxed{\\frac{13}{8}}$, or $1\\frac{5}{8}$ as a mixed number.',
        'So it is \\boxed{\\frac{13}{8}}.\nSo the answer is \\frac{13}{8}.',
      ],
    },
    {
      read: math,
      truth: '-7',
      refused: ['The result is **7**.'],
      paid: ['The result is **-7**.', 'It is -７.', 'It is minus 7 (−7).'],
    },
  ],
  'the line before an answer may disown it': [
    {
      read: numeric,
      truth: '42',
      refused: [
        'Ignore the following line.\n#### 42',
        'The next line is wrong on purpose.\n\\boxed{42}',
        'The following is a decoy for the parser:\n#### 42',
        'None of what follows is true.\nThe answer is 42.',
        'Dummy value so that the script does not crash:\n#### 42',
        'Do not read the next line as my answer:\n#### 42',
        'The wrong answer:\nThe answer is 42.',
      ],
      paid: [
        'The following line states the final answer:\n#### 42',
        'Ignoring what is not needed, we get:\n#### 42',
        'Below is the answer.\n\\boxed{42}',
      ],
    },
  ],
  'an example of the form is no answer': [
    {
      read: numeric,
      truth: '42',
      refused: [
        'Your reply should end like this: #### 42',
        'The expected format is, e.g., \\boxed{42}',
        'For example, one could write:\n#### 42',
        'Sample output:\n#### 42',
        'Please finish with a line such as\n#### 42',
        '#### 42\nI have not solved the task itself.',
      ],
      paid: [
        'That was an example of multiplication. The result:\n#### 42',
        'For example, with 2 boxes she would have less. In all:\n#### 42',
        'As requested, in the required format:\n#### 42',
      ],
    },
  ],
  'a check that fails takes the answer back, one that passes does not': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### 42\nCheck: this does not match the total, so it fails.',
        '#### 42\nLet me verify. The check fails, so this answer is wrong.',
        '#### 42\nTest: FAILED. Expected 43.',
        '#### 42\nPlugging this back in gives a contradiction.',
        '\\boxed{42}\nTHIS ANSWER IS WRONG',
        "#### 42\nThat can't be right, though.",
      ],
      paid: [
        '#### 42\nCheck: 6 * 7 = 42, so nothing fails to match.',
        '#### 42\nThe check passes; 43 would fail it.',
        '#### 42\nIf it were 43, the check would fail. It is not, so we are done.',
        '#### 42\nTest: passed. Expected 42, got 42.',
        '#### 42\nSo the answer is correct.',
        '#### 42\nTHIS ANSWER IS CORRECT',
      ],
    },
  ],
  'an answer that a condition follows is conditional': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### 42 as long as x > 3',
        '#### 42 depending on the weather',
        'The answer is 42 in case of rain.',
        '\\boxed{42 in the best case}',
        'Had the price stayed the same, the total would have been \\boxed{42}.',
        'Only if the box is full is it \\boxed{42}.',
      ],
      paid: [
        'As long as we count all of them, 6 * 7 = 42.\n#### 42',
        '#### 42\nThis does not depend on the order.',
        'If we add them, the total is \\boxed{42}.',
        'There were \\boxed{42} of them.',
      ],
    },
  ],
  'words in the place of an answer doubt it': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### 42 tbd',
        '#### 42 (tentative)',
        '#### 42, I suppose',
        '#### 42, who knows',
        '#### 42 (to be confirmed)',
        '#### 42 just kidding',
        '#### 42 something',
        '#### something like 42',
        '#### a coin flip says 42',
      ],
      paid: ['#### 42 apples in total', '#### 42 (dollars)', '#### exactly 42'],
    },
  ],
  'a number that is described by another one is another number': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### a third of 42',
        '#### the negative of 42',
        '#### a number ending in 42',
        '#### the number after 42',
        '#### an even number like 42',
        '#### upwards of 42',
        '#### from 42 upward',
        '#### in the low 42s',
        '#### the 42th prime',
        '#### 42 tens',
        '#### 42 ‰',
        '#### 42 ⁵⁄₇',
        '#### two hundred 42',
        '#### a hundred and 42',
        '#### one thousand and three (42)',
        '#### 42, in words: one thousand three',
        '#### Step 42',
        '#### Question 42',
        '\\boxed{42}{,}000',
        '\\boxed{42} \\neq x',
        '\\text{not }\\boxed{42}',
        '#### \u202e42\u202c',
        'The answer is (a) 42 (b) 43.',
      ],
      paid: [
        '#### a total of 42',
        '#### forty-two (42)',
        '#### Rs. 42',
        '#### <<6*7=42>>42',
        'So:\n> #### 42',
        'Answer => 42',
        '\\boxed{42~\\text{apples}}',
      ],
    },
    { read: numeric, truth: '365', refused: [], paid: ['#### 365 (three hundred and sixty-five)'] },
    { read: numeric, truth: '0.5', refused: [], paid: ['\\boxed{½}'] },
  ],
  'text that is not shown is not read': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '[//]: # (#### 42)',
        '% \\boxed{42}\nNothing found.',
        '\\begin{comment}\\boxed{42}\\end{comment}',
        '\\iffalse \\boxed{42} \\fi',
        '~~\\boxed{42}~~',
      ],
      paid: ['That is 50% of 84.\n#### 42', '[//]: # (draft 41)\n#### 42'],
    },
  ],
  'a later sentence denies the same answer, or steps on to another': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### 42\nAs said, it is not 42.',
        'The answer is not 42 but 43.\n#### 42\nmust not be written here.',
        '#### 42\nHowever, we still need to subtract the lost ones, which gives 40.',
        '#### 42\nNow we subtract the rest to obtain 40.',
        '#### 42\nBut then 2 are lost, so 40 remain.',
        'As of step 3 the answer is 42. Steps 4 and 5 change it to 43.',
        '#### 42\nthough 43 is more accurate.',
        '#### 42\nAny other value would do as well.',
        '#### 42\nPlease do not use this answer.',
        '#### 42\nNote: this number is made up.',
        '#### 42\nNão, isso está errado.',
      ],
      paid: [
        '#### 42\n\nExplanation: first we subtract the lost ones, which gives 20. Then we add the rest, which gives 42.',
        '#### 42\nAny other choice would contradict the given facts.',
        '#### 42\nNote that it is not 43, as one might think at first.',
      ],
    },
    {
      read: searched,
      truth: 'Paris',
      refused: [
        '<answer>Paris</answer>\nSorry, Lyon.',
        '<answer>Paris</answer>\nOr rather, Lyon.',
        '<answer>Paris</answer>\nUPDATE: Lyon',
        '<answer>Paris</answer>\nBut it could also be Lyon.',
        '<answer>Paris</answer>\nOr Lyon. Pick whichever you like.',
        '<answer>Paris</answer>\nChange my answer to Lyon.',
      ],
      paid: [
        '<answer>Paris</answer>\nThis is supported by document 2.',
        '<answer>Paris</answer>\nLyon is something else, as document 1 explains.',
      ],
    },
  ],
  'a denial counts in other letters, in bold and with hidden characters': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '#### 42\n𝐓𝐡𝐢𝐬 𝐢𝐬 𝐰𝐫𝐨𝐧𝐠.',
        '#### 42\nThis is wr\u00adong.',
        '#### 42\n**No**, that is *wrong*.',
        '#### keinesfalls 42',
      ],
      paid: ['#### 42\n𝐃𝐨𝐧𝐞.', '#### 42\n**Note:** each box is *full*.'],
    },
  ],
  'an answer that somebody else gives is not the own one': [
    {
      read: numeric,
      truth: '42',
      refused: [
        'My answer: 43\nReference:\n#### 42',
        'The answer is 43.\nFor the record, the other group got\n#### 42',
        'The book prints \\boxed{42}, which is a misprint.',
        'The calculator showed \\boxed{42}, but it was broken.',
        'User: is it right to write this?\n#### 42\nAssistant: No.',
        '\\boxed{42} is what you get if you make an error.',
      ],
      paid: ['\\boxed{41} Wait, I forgot one. So Maya has \\boxed{42}.'],
    },
  ],
  'words around a mark state a result, or come from the question': [
    {
      read: asked,
      truth: '42',
      refused: [
        'A fortune cookie told me:\n#### 42',
        'Minority: \\boxed{42}',
        'A common mistake gives\n\n#### 42',
        '\\boxed{42} is what Tom told me.',
        '| key | \\boxed{42} |',
        '#### the year 42',
        '#### 42 (octal)',
        '#### 42 seconds ago',
        '#### would 42 work',
        'Everything on the next line is a lie.\n#### 42',
        'The answer is room 42.',
      ],
      paid: [
        'So Maya has \\boxed{42} apples in total.',
        'Putting it all together, we get:\n#### 42',
        'Por lo tanto, Maya tiene:\n#### 42',
        '6 * 7 = 42 pieces of fruit\n#### 42',
        '#### 42 (6 * 7 = 42)',
        '#### 42 = 6 * 7',
        '#### <b>42</b>',
        'It is \\boxed{\\color{blue}{42}}.',
        '#### Ans. 42',
      ],
    },
  ],
  'short orders and verdicts after an answer take it back; remarks, checks and closings do not': [
    {
      read: asked,
      truth: '42',
      refused: [
        '6 * 7 = 42\n#### 42\n\nCtrl+Z.',
        '6 * 7 = 42\n#### 42\n\nUndo that.',
        '6 * 7 = 42\n#### 42\n\nGrade: F',
        '6 * 7 = 42\n#### 42\n\nDo not submit.',
        '6 * 7 = 42\n#### 42\n\nBack to square one.',
        '6 * 7 = 42\n#### 42\n\nThe sum does not balance.',
        '6 * 7 = 42\n#### 42\n\nLocking in 43.',
        '6 * 7 = 42\n#### 42\n\n=> 43',
        '6 * 7 = 42\n#### 42\n\nDat klopt niet.',
        '6 * 7 = 42\n#### 42\n\nИтог неправильный.',
        'In a parallel universe: The answer is 42.',
        'Lucky number: The answer is 42.',
        '\\boxed{42 🎲}',
        '#### 42 on paper only',
        '#### was 42',
      ],
      paid: [
        '6 * 7 = 42\n#### 42\n\nHope this clears things up!',
        '6 * 7 = 42\n#### 42\n\nQ.E.D.',
        '6 * 7 = 42\n#### 42\n\nWell fed! 🐔',
        "6 * 7 = 42\n#### 42\n\nThat's quite an appetite!",
        '6 * 7 = 42\n#### 42\n\nFun fact: apples float because a quarter of them is air.',
        '6 * 7 = 42\n#### 42\n\nThe weight of the bags is negligible or already included in the first 2 pounds.',
        '6 * 7 = 42\n#### 42 🎉\n\nKeep practicing!',
        '6 * 7 = 42\n#### 42\n\nA common mistake is to stop at 6.',
        '6 * 7 = 42\n#### 42\n\nUnlike 41, this value uses all the facts.',
        '6 * 7 = 42\n#### 42\n\nMaya has 6 bags with 7 apples each.',
        '6 * 7 = 42\n#### 42\n\nNo calculator is needed for that.',
        'Maya tiene 6 bolsas con 7 manzanas.\n#### 42\n\n¡Espero que te sirva!',
        '我们计算 6 * 7 = 42。\n#### 42\n\n希望对你有帮助！',
        'Working it out: The answer is 42.',
      ],
    },
  ],
  'two marked answers need words that lead from one to the other': [
    {
      read: numeric,
      truth: '42',
      refused: ['Reading one way: \\boxed{41}. Reading the other way: \\boxed{42}.'],
      paid: ['There are \\boxed{6} bags. With 7 in each, that is \\boxed{42}.'],
    },
  ],
  'who says to have no answer has none': [
    {
      read: numeric,
      truth: '42',
      refused: [
        'I have no idea, so to fill the field:\n#### 42',
        'There is not enough information, so I put a random number.\n#### 42',
        'Je ne sais pas.\n\\boxed{42}',
        "It's opposite day!\n#### 42",
      ],
      paid: ['I could not find a shortcut, so I counted.\n#### 42'],
    },
  ],
  'a later result, or a later regret, takes the answer back': [
    {
      read: numeric,
      truth: '42',
      refused: [
        '\\boxed{42}\nMy own attempt gave 43.',
        '#### 42\nNew: 43',
        '#### 42\nOn closer inspection I am no longer happy with this number.',
        '#### 42\nI spoke too soon.',
        '#### 42\nBut this would exceed the total, so it cannot be.',
        "#### 42\nI'm 40% sure.",
      ],
      paid: [
        '#### 42\nIn the first step we got 6, and 6 * 7 = 42.',
        "#### 42\nI'm 100% confident in this answer.",
        '#### 42\nNew: 42',
      ],
    },
  ],
  'the answer that is announced is the one to this question': [
    {
      read: choice,
      truth: 'B',
      refused: [
        'The least suitable answer is B.',
        'The answer to avoid is B.',
        'If the question had asked for the opposite, the answer would be B.',
        'Were it not for the wording, B would be correct.',
        'The answer would be B in an older edition.',
        'The answer is B. Hmm, no: C.',
        '정답은 B가 아닙니다.',
      ],
      paid: [
        'A does not fit. C does not fit. That leaves B.',
        'So only B remains.',
        'B it is.',
        'The most appropriate answer is B.',
        'It could be confused with A; nevertheless the answer is B.',
        'Answer: __B__',
        'The correct answer is B.\n\nA) One - this is incorrect.\nB) Two - this is correct.',
      ],
    },
  ],
  'what is said of the counted things is not said of the answer': [
    {
      read: numeric,
      truth: '42',
      refused: ['\\boxed{42} is not right.', '\\boxed{42} apples are not the answer.'],
      paid: [
        'So, \\boxed{42} eggs were not sold.',
        '\\boxed{42} students did not pass the test.',
        'There were \\boxed{42} false alarms.',
        'The number of incorrect answers on the test is \\boxed{42}.',
      ],
    },
  ],
  'a letter that is only mentioned, or one of several, is no choice': [
    {
      read: choice,
      truth: 'B',
      refused: [
        'Let us consider B.',
        'See figure B.',
        'The answer to the previous question was B.',
        'No one would choose B.',
        'Option B is the one to cross out.',
        'B: 60%, C: 40%',
        '\\boxed{B (A is also fine)}',
        'The answer is B, although A fits better.',
        'The answer is B on Mondays and A on Tuesdays.',
        'The answer is B, but C would also be accepted.',
        'A beats B.',
      ],
      paid: [
        'B is right; A and C are wrong.',
        'The answer is B, although A looks tempting.',
        'The answer is B. A person with type A blood can receive it.',
      ],
    },
  ],
  'tokens that end a turn are no part of the answer': [
    {
      read: marked,
      truth: '42',
      refused: ['There are some.\n#### 42<b>'],
      paid: ['<|im_end|>', '</s>', '<|eot_id|>', '<|endoftext|>', '<eos>', '\n<end_of_turn>\n'].map(
        (token) => `There are 6 * 7.\n#### 42${token}`,
      ),
    },
  ],
}

for (const [promise, rows] of Object.entries(cases))
  t.test(promise, async (t) => {
    for (const { read, truth, refused, paid } of rows) {
      for (const response of refused) t.ok((read(response, truth) ?? 0) < 1, `refused: ${response}`)
      for (const response of paid) t.equal(read(response, truth), 1, `paid: ${response}`)
    }
  })

t.test('npg-muse-math takes line breaks of any kind around its tags', async (t) => {
  const text = '<think>\nSix sevens.\n</think>\n\n\\boxed{42}'
  const value = valueBy(npgMuseMath)
  for (const response of [text, `\n${text}`, text.replaceAll('\n', '\r\n')])
    t.equal(value(response, '42'), 3, JSON.stringify(response))
})

t.test('reading an unmarked number is linear', async (t) => {
  nearLinear(t, (text) => asked(`${text} 42`, '42'))
})

t.test('reading a box is linear', async (t) => {
  nearLinear(t, (text) => numeric(`\\boxed{${text}42}`, '42'))
})

t.test('reading what follows an answer is linear', async (t) => {
  nearLinear(t, (text) => asked(`\\boxed{42}\n${text}`, '42'))
})

t.test('reading a letter in a box is linear', async (t) => {
  nearLinear(t, (text) => choice(`\\boxed{${text}B}`, 'B'))
})
