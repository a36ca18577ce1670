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
const falseWords = 'wrong incorrect false untrue invalid mistaken'
const doubtWords =
  'hopefully maybe perhaps possibly probably presumably supposedly unsure unknown guess guessing'
export const falsity = `(?:${list(`${falseWords} erroneous impossible bogus absurd inaccurate
  unacceptable unlikely doubtful questionable uncertain unclear fake nonsense rejected excluded eliminated refuted
  disproved retracted withdrawn unsupported implausible fictitious made-up made_up (?<=\\b(?:is|are|was|were|be|way|far|bit|little|slightly|clearly)\\s)off falsch faux falso incorrecto неверно 错 错误 不对 不正确`)})`
export const doubt = `(?:${list(`${doubtWords} likely allegedly reportedly conceivably
  potentially hypothetically tentatively tentative provisional provisionally might could undecided quizás quizá tal_vez
  peut-être vielleicht talvez forse возможно может_быть 可能 也许 或许 大概`)})`
export const filler = `(?:${list(`be been being equal equals equal_to to exactly really actually necessarily simply just quite
  the a an my our your final correct right true real answer option choice letter number value result solution total
  at all is are was in_fact that this it certainly clearly definitely obviously even also only x y z n la le el`)})`
export const copula = `(?:is|are|was|were|be|been|equals?|means|seems|looks|sounds|remains|${apostrophe}s|(?:turn|turned|turns) out)`

/** One blank or line break for each run of white space, so that no pattern walks a run twice. */
export const narrow = (text: string): string =>
  text.replace(/\s{2,}/g, (run) => (run.includes('\n') ? (/\n[^\n]*\n/.test(run) ? '\n\n' : '\n') : ' '))

/** Tells whether a text starts with the same answer again, or with another one of its kind. null: with neither. */
export type Another = (text: string) => 'same' | 'other' | null

/** English words by which a short answer takes itself back, doubts itself or bounds a number. */
const denials = `${list(falseWords)}|not|never|neither|nor|none|cannot|hardly|scarcely|barely|wrongly|incorrectly|falsely|opposite|contrary|reverse|reversed|anything|everything|nothing|except|excluding|besides|unlike|far from|ruled? out|rejects?|rejected|deny|denies|denied|refuse|refused|refuted?|ain't|(?:is|are|was|were|do|does|did|ca|could|would|should|has|have|had|wo)n't`
const doubts = `${list(doubtWords)}|unlikely|allegedly|arguably|conceivably|i suppose|i reckon|i guess|(?:might|may|could|should|would) be|uncertain|unclear|doubt|doubts|doubtful|dubious|otherwise|alternatively|instead|rather|whether|but|however|although|unless|depending|depends|joking|kidding|myth|hoax|rumou?r|rumou?red`
const bounds =
  'less|fewer|more|greater|larger|smaller|higher|lower|at least|at most|below|above|under|beyond|exceeds?|exceeding|nearly|almost|about|approximately|approx|around|roughly|circa|up to|minus|negative|half|double|twice|triple|(?:minimum|maximum) of'

const word = (words: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words})(?![\\p{L}\\p{N}_])`, 'iu')
const denied = word(denials)
const doubted = word(doubts)
const bounded = word(bounds)
const takenBack =
  /^[^\p{L}\p{N}]*(?:(?:is|was|would be) )?(?:not|never|nor|neither|or|if|unless)(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])(?:wrong|incorrect|false|untrue|mistaken|(?:is|was) not|(?:is|was)n't|not (?:the|an?|really|right|correct|true|quite|so))(?![\p{L}\p{N}])/iu
const calledWrong =
  /^[^\p{L}\p{N}]*(?:or|if|unless|is not)(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])(?:wrong|incorrect|false|untrue|mistaken|not the answer)(?![\p{L}\p{N}])/iu
const question = /[?？¿]/
const signs = /[¿¬≠≈~]|!=|<>|[不没沒非否或]|可能|也许|大概/

const plain = (text: string): string => text.replace(/[’‘ʼ]/g, "'")

/** Whether a short text denies or doubts what it says, or asks. Linear. */
export const isHedged = (text: string): boolean =>
  isDoubted(text) || signs.test(text) || denied.test(plain(text))

/** Whether a short text doubts what it says, or asks. Linear. */
export const isDoubted = (text: string): boolean => question.test(text) || doubted.test(plain(text))

/** Whether the text after an answer calls it wrong or doubts it. Denials may explain an answer such as `no`. Linear. */
export const isCalledWrong = (text: string): boolean => isDoubted(text) || calledWrong.test(plain(text))

/** Whether the text after an answer takes it back (`is wrong`, `is not the answer`). Linear. */
export const isTakenBack = (text: string): boolean =>
  isDoubted(text) || signs.test(text) || takenBack.test(plain(text))

/** Whether a short text before a number bounds or scales it (`less than`, `half`). Linear. */
export const isBounded = (text: string): boolean => bounded.test(plain(text)) || /[<>≤≥±√^!%‰]/.test(text)

const mocking = /[🎲🎰🎭🃏🔮💩💀🧢🪤🪄🤞🤷🙃😜😝🤪🤡🤥🤔😏😬🙄❌✖❎🚫⛔👎❓❔⁉🖕]/u

/** Whether a sign beside an answer makes fun of it or doubts it: `42 🤞`. */
export const isMocked = (text: string): boolean => mocking.test(text)

/** What holds in a world that is not ours: `In a mirror world it would be 500`. */
export const elsewhere =
  /^\W*In\s+(?:a|an|some|another)\s+(?:[\p{L}-]+\s+){0,2}(?:world|universe|reality|dream|fairy\s+tale|novel|film|game)\b.{0,120}\bwould\b/iu

/** Verbs of other languages that say what would be or could be. */
export const isSubjunctive = (text: string): boolean =>
  /(?<![\p{L}])(?:wären?|würden?|hätten?|könnten?|gäbe|käme|seraient|serait|auraient|aurait|pourrai(?:en)?t|serían?|habrían?|tendrían?|podrían?|sarebber?o?|potrebber?o?|avrebber?o?|seriam?|poderiam?|teriam?)(?![\p{L}])|(?<![\p{L}])бы(?![\p{L}])/iu.test(
    text,
  )

const offer =
  /^\W*(?:if\s+you(?:['’]d|\s+would)?\s+(?:like|want|need|prefer|wish)\b[^,]{0,60},\s+(?:I\s+(?:can|could|am|would)|I['’](?:m|d|ll)|just|let\s+me\s+know|feel\s+free)|let\s+me\s+know\s+if|feel\s+free\s+to|would\s+you\s+like\s+me|shall\s+I|(?:do\s+you\s+)?want\s+me\s+to|I\s+can\s+also)\b/i

/** Whether a sentence offers more: `If you'd like, I can also list the steps.` It states no answer, and takes none back. */
export const isOffer = (sentence: string): boolean => offer.test(sentence)
