/**
 * English words by which a short answer takes itself back, doubts itself or bounds a number, and the signs that do so.
 * Whoever asks decides how much of the text around the answer they look at.
 */
const denials =
  "not|never|neither|nor|none|cannot|hardly|scarcely|barely|wrong|wrongly|incorrect|incorrectly|false|falsely|untrue|invalid|mistaken|opposite|contrary|reverse|reversed|anything|everything|nothing|except|excluding|besides|unlike|far from|ruled? out|rejects?|rejected|deny|denies|denied|refuse|refused|refuted?|ain't|(?:is|are|was|were|do|does|did|ca|could|would|should|has|have|had|wo)n't"
const doubts =
  'maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|(?:might|may|could|should|would) be|unsure|uncertain|unclear|unknown|doubt|doubts|doubtful|dubious|unlikely|guess|guessing|otherwise|alternatively|instead|rather|whether|but|however|although|unless|depending|depends|joking|kidding|myth|hoax|rumou?r|rumou?red'
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
