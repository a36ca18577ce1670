/**
 * What the words around an answer say of it: denied, doubted, conditional, one of several. Word lists, not
 * grammar: they are long for English and short for the other languages that policies mix in.
 */

/** Why an answer that stands in its place does not count. */
export type Objection =
  | 'denied'
  | 'doubted'
  | 'conditional'
  | 'several_answers'
  | 'extended'
  | 'inequality'
  | 'withdrawn'

export const list = (words: string): string => words.trim().split(/\s+/).join('|').replaceAll('_', ' ')

export const apostrophe = `['’‘\`]`
export const negation = `(?:${list('not never neither nor cannot nope ain.t')}|\\w{2,9}n${apostrophe}t)`
export const falsity = `(?:${list(`wrong incorrect false untrue mistaken erroneous invalid impossible bogus absurd inaccurate
  unacceptable unlikely doubtful questionable uncertain unclear fake nonsense rejected excluded eliminated refuted
  disproved retracted withdrawn unsupported implausible fictitious made-up made_up off falsch faux falso incorrecto неверно 错 错误 不对 不正确`)})`
export const doubt = `(?:${list(`maybe perhaps possibly probably presumably likely allegedly supposedly reportedly conceivably
  potentially hypothetically tentatively tentative provisional provisionally might could guess guessing unsure unknown undecided quizás quizá tal_vez
  peut-être vielleicht talvez forse возможно может_быть 可能 也许 或许 大概`)})`
export const filler = `(?:${list(`be been being equal equals equal_to to exactly really actually necessarily simply just quite
  the a an my our your final correct right true real answer option choice letter number value result solution total
  at all is are was in_fact that this it certainly clearly definitely obviously even also only x y z n`)})`
export const copula = `(?:is|are|was|were|be|been|equals?|means|seems|looks|sounds|remains|${apostrophe}s|(?:turn|turned|turns) out)`

/** One blank or line break for each run of white space, so that no pattern walks a run twice. */
export const narrow = (text: string): string =>
  text.replace(/\s{2,}/g, (run) => (run.includes('\n') ? (/\n[^\n]*\n/.test(run) ? '\n\n' : '\n') : ' '))

/** Tells whether a text starts with the same answer again, or with another one of its kind. null: with neither. */
export type Another = (text: string) => 'same' | 'other' | null
