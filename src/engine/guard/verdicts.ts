import { asciiTable } from './ascii.ts'

const words = 'yes|no|true|false|(?:in)?correct|pass(?:ed)?|fail(?:ed)?|right|wrong|tie'
const labels = 'score|rating|grade|verdict|judge?ment|evaluation|reward'

/** At a `[`: `[[8]]`, `[[A]]`, `[[10/10]]`, `[[A>>B]]`. */
export const rating = new RegExp(
  `\\[\\[\\s?(?:\\d{1,3}(?:\\.\\d{1,4})?(?:\\s?/\\s?\\d{1,3})?|[A-E]|[AB][<>=]{1,3}[AB]|${words})\\s?\\]\\]`,
  'iy',
)

/** At a `<`: `<score>`, `</verdict>`. */
export const verdictTag = new RegExp(`</?(?:${labels})\\s?>`, 'iy')

/** At a colon: a number, a letter or a word that could be a verdict. */
export const verdictAfter = new RegExp(
  `[:：]\\s{0,3}["'\`*_“‘[(]{0,4}(?:[-+.]?[\\d０-９]|(?:${words})(?![A-Za-z])|[A-E](?![A-Za-z]))`,
  'iy',
)

/** What stands before the colon where it announces a verdict: `"score"`, `**Rating** `, `评分`; else it is an ordinary word. */
export const labelBefore = new RegExp(
  `(?:(?<![A-Za-z])(?:${labels}|(?:is_)?correct(?:ness)?)|评分|得分|打分|分数|判定|判断结果)["'\`*_”’)\\]]{0,4}\\s{0,3}$`,
  'i',
)

/** Longer than any label with its quotes. */
export const labelReach = 32

/** At a line's beginning: a line that is nothing but a verdict in capitals; the group stands before the word. */
export const bareLine =
  /([ \t"'`*_([]{0,4})(?:YES|NO|TRUE|FALSE|CORRECT|INCORRECT|PASS|FAIL)[ \t"'`*_)\].!]{0,4}(?:\r?\n|$)/y

/** What `bareLine` can begin with. */
export const bareStarts = asciiTable(/[ \t"'`*_([CFINPTY]/)
