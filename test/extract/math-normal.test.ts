import t from 'tap'
import { graphWizNormal, lastBox, mathNormal } from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'

t.test('the last box is read to the brace that closes it', async (t) => {
  t.equal(lastBox('\\boxed{1} and \\boxed{\\frac{a}{b}c}.'), '\\boxed{\\frac{a}{b}c}')
  t.equal(lastBox('\\boxed{1}\\fbox{2}'), '\\boxed{1}', 'a frame counts only where there is no box')
  t.equal(lastBox('\\fbox{2}'), '\\fbox{2}')
  t.equal(lastBox('so $\\boxed 7$ apples, \\boxed{8}'), '\\boxed 7', 'the spaced form goes first')
  t.equal(lastBox('\\boxed{1'), null)
  t.equal(lastBox('\\boxed}{1}'), null)
  t.equal(lastBox('7'), null)
})

t.test('equal answers are spelled alike', async (t) => {
  const spelled: Record<string, string> = {
    '\\dfrac12': '\\frac{1}{2}',
    '\\tfrac1{2}': '\\frac{1}{2}',
    '\\frac{1}2': '\\frac{1}2',
    '3/4': '\\frac{3}{4}',
    '03/4': '03/4',
    '0.5': '\\frac{1}{2}',
    '.25': '0.25',
    'x = 5': '5',
    'xyz=5': 'xyz=5',
    'a=b=5': 'a=b=5',
    '\\sqrt3': '\\sqrt{3}',
    '10\\text{ cm}^2': '10',
    '50\\%': '50',
    '\\left( 1 , 2 \\right)': '(1,2)',
    '90^\\circ': '90',
    '\\frac1': '\\frac1',
    '\\sqrt\u{1d7d9}': '\\sqrt{\u{1d7d9}}',
    '': '',
  }
  for (const [text, normal] of Object.entries(spelled)) t.equal(mathNormal(text), normal, text)
})

t.test('a text that the original throws at has no spelling', async (t) => {
  for (const text of ['\\sqrt', '\\frac', '1\\text{ m}2\\text{ s}']) t.equal(mathNormal(text), null, text)
})

t.test('the spelling of yes and no loses braces and commands', async (t) => {
  t.equal(graphWizNormal('\\text{Yes}'), 'Yes')
  t.equal(graphWizNormal('{{no}}'), '{{no}}')
  t.equal(graphWizNormal('\\mathbf{7}'), 'mathbf{7}')
  t.equal(graphWizNormal('\\sqrt'), null)
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => lastBox(`\\boxed${text}`))
  nearLinear(t, (text) => mathNormal(text))
  nearLinear(t, (text) => mathNormal(`\\frac${text.slice(0, 2)}`.repeat(100_000)))
})
