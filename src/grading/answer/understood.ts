import { englishWords, isKnownWord, stemOf, wordPattern } from './known-words.ts'
import { type Another, narrow } from './wording.ts'

/** Sentences after an answer are read one by one: at most this many from each end. */
const mostSentences = 500
const longestSentence = 600
const longestWork = 20_000

/** Words with which a response goes on after its answer, besides those that lead to one. */
const closing = new Set(
  `hope hopefully helps help helped helpful let know like love want wanted need feel free ask asking question questions
  further more additional extra another other anything else any some assistance assist support happy glad pleased
  welcome thank thanks cheers good great nice neat well luck day enjoy learning learn study keep practice homework
  would could shall may might explain explained explanation explanations explains reasoning reason reasons rationale
  justification detail details detailed breakdown clarify clarification clarified clear clears cleared understand
  understanding understood unclear stuck hint hints tip tips fun fact note notes remember reminder observe notice
  key concept concepts topic topics difficulty easy medium hard simple tricky used uses using method methods approach
  approaches way technique idea strategy formula skills skill tags summary recap recapping overview confidence high
  certain sure confident verify verifies verified verifying verification confirm confirms confirmed confirming
  confirmation validate validates check checks checked checking double-checked double doublechecked sanity plausible
  plausibility reasonable sensible sense consistent consistency match matches matching agree agrees agreed agreement adds
  balance balances satisfied satisfies satisfy satisfying hold holds valid true fits fit works work worked backwards
  backward reverse original condition conditions given information numbers figures values facts statement statements
  problem problems task exercise end ended done finished finish complete completes completed completing concludes
  solution solutions solved answers answered answering alternative alternatively alternate also too again once same equal
  equivalent equivalently expressed written write rounded decimal decimals fraction form assumption assumptions assume
  assumed assuming nothing everything none no never not cannot don't doesn't didn't isn't aren't won't forget forgets
  forgot forgetting confuse confused confusing mistake mistakes common typical error errors trap pitfall pitfalls stop
  stopping careful include includes included including unit units step steps each every part parts first second third
  last next previous earlier later intermediate matters matter important irrelevant relevant necessary needed required
  requires unlike instead rather only just still even though although while whereas since because when where why how
  if then than as such both either neither nor or all most many few different differently changed change changes stay
  stays remain unchanged based according provided provides correctly right exactly indeed precisely quick quickly
  slow time times things thing something someone anyone people students student one ones you you're you'd you'll
  your yours they them their theirs he she his her who which whose that's it's there's here's what's we'd we'll we've
  i've i'd i'll got get gets do does did been being be was were always usually often sometimes ever try trying tried
  look looks looking see sees seen shown shows showing show used leads lead tells tell means meaning asked asks
  available follow follows following follow-up pattern example examples similar go goes going went came come comes
  interesting cool yay bye goodbye best regards sincerely qed q.e.d e d q boxed answer final thus hence so therefore
  solving calculating computing finding counting adding subtracting multiplying dividing addition subtraction
  multiplication division arithmetic algebra algebraic equation equations word percentage percentages rate ratio logic
  correctness accurate accuracy accurately refers refer describes described describe defined definition known name named
  option options choice choices incorrect wrong false eliminate eliminated elimination rule ruled distractor distractors
  source sources document documents passage article text search results voila voilà p.s ps nb fyi solution's
  supported supports simplify simplified eye sorry apologies apologize confusion worry calculator calculators conversion
  conversions convert converted converting candidate candidates discard discarded apply applies ignore ignores ignored skip
  skips skipped skipping mix mixing placed place places misreading guess guesses guessing estimate estimates general theory
  shortcut shortcuts safe surprisingly perhaps maybe bad patience takeaway expand hide hides slip slips slipped textbook
  otherwise reconsider reconsidering thought thoughts thinking think draft attempt attempts wait hmm hm actually however small
  smaller large larger big bigger harder easier another stands stand side sides read reads reading twice carefully others
  reproduces reproduce substituting substitute substitution back confirming going through data magnitude order makes
  additionally moreover furthermore therefore overall essentially basically simply remember contradict contradicts
  contradiction impossible cannot can't couldn't wouldn't shouldn't haven't hasn't it'd minutes hours days weeks
  please tell hesitate wonder somebody somehow supposed whole exact answer's proof theorem formulae rest left leftover over
  effect shorter longer main point points lesson practice practise lot lots plus sometimes possible possibly
  seems seem feels right start started starts kind kinds recall recalls compare compared comparing remainder claim claims
  misread draft formula obtained instance appears yes
  wrap wraps job along following reply straightforward basic diagram single expression taken story errors spot
  dozen fixed said says mine words names fail fails failing long remark remarks reason's
  full empty separately repeated repeating whole case cases sense rules statement computing typo corrected correcting copied
  made make makes assistant generated author written solved written by copyright powered
  would've needn't mustn't isn't doubt doubts doubtful concern`.split(/\s+/),
)

/** What speaks of the answer, of its author, or of its reader: such a sentence is understood whole. */
const referring =
  /(?<![\p{L}])(?:I|I['’]m|I['’]ve|me|my|mine|myself|it|this|that|these|those|above|answers?|results?|numbers?|values?|figures?|lines?|solutions?|sums?|totals?|keys?|books?|tests?|checks?|choices?|options?|boxes|box|sources|grades?|grader|submit\w*|submission|verdict|status|score|everyone|everybody|nobody|anybody|somebody|else|teacher|simulation|recount\w*|proof|claims?|guess\w*|all)(?![\p{L}])/iu
/** What makes of another value a part of the work, or an answer that is ruled out. */
const ofWork =
  /\b(?:first|initial(?:ly)?|start(?:s|ed|ing)?|intermediate|step|steps|before|originally|each|per|every|stop(?:s|ping|ped)?|confus\w+|mistake|mistakenly|error|trap|pitfall|instead\s+of|rather\s+than|not|n['’]t|unlike|without|forg\w+|would|were|wrong|incorrect|false|fails?|ignores?|misread\w*|draft|attempt|decimal|problem|only|if|from|because|since|check\w*|verif\w+|plus|minus|times|divided|doubled|tripled|halved|added|subtracted|multiplied|tempt\w+|overlook\w*|too\s+\w+)\b|(?:[\d)}%]|(?<!\p{L})\p{L})\s*[=≈]|[×÷✓]|[*+/][^.!?]{1,40}=|\d\s?%|\d\s*[-+*/−]\s*\$?\d|\d\s+\p{L}+\s+(?:is|are|has|have|makes?|equals?)\s+\d/iu

const friendly =
  /[✅✔☑✓🎉🎊😊😀😃😄🙂😁👍🎯💯✨🥳🚀📝🙌👏🤗🌟⭐💡📌🔢🧮🎓📚❤♥🍀👋🤓😉💪🏆🙏]|\ufe0f|\p{EMod}/gu
const pictograph = /\p{Extended_Pictographic}/u
const values = /(?<![\p{L}\p{N}.,^_$\\-])(?:[A-Z](?![\p{L}\p{N}'’]|\.\p{L})|[-−]?\\?\$?\.?\d[\d.,/]*)/gu
const plainValues = /\d[\d,]*(?:\.\d+)?/g
/** Code, tables, formulas that stand apart, and links say nothing in words. */
const wordless =
  /```[^`]{0,4000}(?:```|$)|^\s*\|[^\n]*$|\$\$[^$]{0,2000}\$\$|\\\[[^\]]{0,400}\\\]|\\[a-z]+\*?(?:\{(?:align|aligned|equation|array|cases|center|enumerate|itemize)\*?\})?|https?:\/\/\S{1,300}|<\/?[a-z]{1,20}>/gim

/** How a response ends politely, or adds a remark, in other languages. */
const foreignClosing =
  /(?:ich\s+)?hoffe|hilft|espero|sirva|ayud[ae]|n['’]h[ée]sitez|j['’]esp[èe]re|spero|dúvida|вопрос|надеюсь|помо[гж]|希望|帮助|幫助|質問|お役に立て|도움|^\W*(?:hinweis|anmerkung|nota|remarque|note|примечание|注意?|解释|说明|解説)\s*[:：]|提问|随时|如上|所示/iu
const notes =
  /^\s*[*_>#(-]*\s*(?:\d{1,2}[.)](?=\s|$)|[-*•]\s)|\b(?:checks?|tests?)\s+(?:all\s+)?pass(?:es|ed)?\b|\b(?:confidence|confident|sure|certain)\W{0,6}\d{1,3}\s?%|\b(?:100|9\d)\s?%\s+(?:sure|certain|confident)|#\p{L}+|\b(?:q\.?e\.?d|i\.e|e\.g|p\.s)\b\.?|^\W{0,3}e\.$/giu
/** Words that rule out other answers, which may have names of their own. */
const rulesOut =
  /\b(?:incorrect|wrong|false|fails?|discard|unlike|wonder|draft|candidates?|came\s+(?:later|earlier)|ignores?|misread\w*|mistake|omits?|(?:does|do)\s+not\s+fit)\b/i

/** A sentence that begins so speaks of the work or to the reader. */
const onWork =
  /^\W*(?:(?:please\s+)?let\s+me\s+know|(?:please\s+)?feel\s+free|if\s+you|you\s+can|in\s+(?:conclusion|summary|short)|keep\s+\p{L}+ing|(?:great|good|nice|well|excellent|awesome|fantastic|congratulations|congrats)\b|(?:the|this|our|my)\s+(?:computation|calculation|method|approach|steps?|trick|idea|arithmetic|technique|strategy|process|explanation|derivation)\b|(?:each|all|every|both)\s|step[- ]by[- ]step|we\s+(?:can|could|used|also|first|then|simply|just|only|know)\b|verification\b|explanation\b|reason(?:ing)?\b|remember\b|always\b|tip\b|note\s+that\b|this\s+(?:kind|type|sort)\s+of\b|is\s+there\s+anything\b|would\s+you\b|do\s+you\b|shall\s+I\b|happy\b|glad\b)/iu

/** A text before an answer, and the question: whose words may come again after it. */
export interface Told {
  readonly question: string
  readonly work: string
}

/**
 * Whether all that follows an answer is understood: words that close a response, that explain or check the answer in
 * words of the question or of the work, or that tell of the world. What refers to the answer in other words may take it
 * back in a form that no list has. Linear.
 */
export function isUnderstood(later: string, told: Told, another: Another): boolean {
  if (!/[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(later)) return true
  const plain = narrow(
    later.length > 400_000 ? `${later.slice(0, 200_000)}\n${later.slice(-200_000)}` : later,
  )
  const sentences = plain
    .replace(/\\(?:times|cdot|div|d?frac|sqrt)(?![a-z])/g, ' × ')
    .replace(wordless, ' ')
    .split(/(?<=[.!?。！？…])(?=\s|["'”’)*]|\p{Lo})|\n|;\s/u)
    .filter((sentence) => /[\p{L}\p{N}^\p{Extended_Pictographic}]/u.test(sentence))
  const read =
    sentences.length > 2 * mostSentences
      ? [...sentences.slice(0, mostSentences), ...sentences.slice(-mostSentences)]
      : sentences
  const known = new Known(told)
  return read.every((sentence, at) =>
    isNeutral(sentence.slice(0, longestSentence), known, another, at === read.length - 1),
  )
}

/** Whether a sign beside an answer is a face or a thing that does not approve of it: `42 🤞`. */
export const isMocked = (text: string): boolean => pictograph.test(text.replace(friendly, ' '))

/** The words and numbers of the question and the work, read when first asked for. */
class Known {
  readonly told: Told
  #stems: ReadonlySet<string> | null = null
  #numbers: ReadonlySet<string> | null = null

  constructor(told: Told) {
    this.told = { question: told.question, work: told.work.slice(-longestWork) }
  }

  get all(): string {
    return `${this.told.question}\n${this.told.work}`
  }

  has(word: string): boolean {
    this.#stems ??= new Set(this.all.toLowerCase().match(wordPattern)?.map(stemOf))
    return this.#stems.has(stemOf(word))
  }

  hasNumber(number: string): boolean {
    this.#numbers ??= new Set(this.all.match(plainValues)?.map((found) => found.replaceAll(',', '')))
    return this.#numbers.has(number.replace(/[^\d.]/g, '').replace(/\.$/, ''))
  }

  /** Whether the work is written in the language of a sentence that is not English. */
  speaks(sentence: string): boolean {
    const letters = sentence.match(/[^\0-\u024f\u2000-\u2bff]/u)?.[0]
    if (letters !== undefined) return sharesScript(sentence, this.all)
    if (englishWords.test(sentence)) return false
    const { question, work } = this.told
    const near = work.slice(-300).replace(/\\\w+/g, ' ')
    return !englishWords.test((near.match(wordPattern)?.length ?? 0) < 6 ? question : near)
  }
}

const scripts = [
  /\p{sc=Han}/u,
  /[\p{sc=Hira}\p{sc=Kana}]/u,
  /\p{sc=Hang}/u,
  /\p{sc=Cyrl}/u,
  /\p{sc=Arab}/u,
  /\p{sc=Deva}/u,
  /\p{sc=Grek}/u,
  /\p{sc=Thai}/u,
  /\p{sc=Hebr}/u,
  /\p{sc=Beng}/u,
]
const sharesScript = (one: string, other: string): boolean =>
  scripts.some((script) => script.test(one) && script.test(other))

function isNeutral(sentence: string, known: Known, another: Another, isLast: boolean): boolean {
  const text = sentence.replace(friendly, ' ').replace(notes, ' ')
  if (pictograph.test(text)) return false
  const words = text.toLowerCase().match(wordPattern) ?? []
  if (words.length > 0 && (known.speaks(text) || foreignClosing.test(text))) return true
  const strays: string[] = []
  let shared = 0
  for (const word of words) {
    if (word.length === 1 || closing.has(word)) continue
    if (known.has(word)) {
      if (!isKnownWord(word)) shared++
    } else if (!isKnownWord(word)) strays.push(word)
  }
  if (!valuesFit(text, known, another, shared, isLast)) return false
  if (
    shared === 0 &&
    isAgainst(text, rulesOutNames(text, strays) || (ofWork.test(text) && valuesOf(text, another).length > 0))
  )
    return false
  if (strays.length === 0) return words.some((word) => word.length > 1) || !/[\p{L}^~]/u.test(text)
  if (shared > 0) return strays.length <= 2 + shared
  if (strays.length <= 2 && valuesOf(text, another).some(({ is }) => is === 'same')) return true
  if (rulesOutNames(text, strays)) return true
  if (strays.length <= 2 && onWork.test(text) && !denying.test(text)) return true
  if (/\d[\s\p{L}]*=\s*[-−$]?\d/u.test(text) && strays.length <= 3 && !referring.test(text)) return true
  return words.length >= 7 && !referring.test(text)
}

/** What tells its reader to do something with the answer. */
const commanding =
  /^\W*(?:(?:please|now|just|kindly)\s+)?(?:read|skip|forget|take|put|write|call|use|add|subtract|multiply|divide|double|ignore|discard|stop|give|get|change|make|reverse|reconsider|round|convert|replace|correct|include|exclude|guess|start|leave|keep|let\s+me\s+(?:start|redo|try|correct))\b(?=\s+[\p{L}\d(])(?!\s+(?:sense|in\s+mind|going|practi[cs]ing|learning|up\s+the\s+good))|\bto\s+be\s+(?:revised|corrected|changed|completed|replaced)\b|^\W*as\s+if\W*$|\bI\s+(?:yield|stop|end|guess|leave)\b/iu
const denying =
  /(?<![\p{L}])(?:not|\p{L}+n['’]t|never|none|nothing|nobody|cannot|fails?|impossible|no\s+one)(?![\p{L}])/iu
/** Denials that say nothing of the answer. */
const harmless =
  /\b(?:(?:do\s+not|don['’]t|not\s+to|never|cannot|can['’]t)\s+(?:forget|confuse|hesitate|worry|mix|skip|stop|be\s+(?:simplified|reduced))|not\s+(?:bad|needed|required|necessary|hard|difficult|matter|clear|sure\s+about|fit|apply|used?|lost)|n['’]t\s+(?:needed|required|necessary|matter|hard|fit|apply|used?|change)|(?:did\s+not|didn['’]t)\s+(?:need|use|have\s+to)|while\s[^.!?]{1,40}\snot|why\s+(?:it\s+is\s+)?not|not\s+what\s+is\s+asked|nothing\s+[^.!?]{0,40}\s(?:out|missing|lost)|nothing\s+(?:else|more|was|is|changes)|never\s+(?:gets|mind\s+the)|\bif\b|because|so\s+no|would|order)\b/i

const isAgainst = (text: string, hasOthers: boolean): boolean =>
  commanding.test(text) || (!hasOthers && denying.test(text) && !harmless.test(text))

/** Whether the unknown words of a sentence are names of other answers, which it rules out. */
const rulesOutNames = (text: string, strays: readonly string[]): boolean =>
  strays.length > 0 &&
  strays.length <= 4 &&
  rulesOut.test(text) &&
  !/^\W*[\p{L} ]{1,20}:/u.test(text) &&
  strays.every((word) => isName(text, word))

const isName = (text: string, word: string): boolean =>
  !/(?:ing|ed)$/.test(word) &&
  text.includes(word.charAt(0).toUpperCase() + word.slice(1)) &&
  !text.includes(word)

/** Whether the values of a sentence are the answer, or parts of the work. */
function valuesFit(text: string, known: Known, another: Another, shared: number, isLast: boolean): boolean {
  const found = valuesOf(text, another)
  if (found.some(({ is }) => is === 'same')) return true
  const others = found.filter(({ is }) => is === 'other')
  if (others.length === 0 || ofWork.test(text)) return true
  return (
    shared > 0 &&
    others.every(({ value }) => /^[A-Z]$/.test(value) || ((!isLast || shared > 1) && known.hasNumber(value)))
  )
}

const valuesOf = (text: string, another: Another) =>
  Array.from(text.matchAll(values), ({ 0: value, index }) => ({
    value,
    is: another(text.slice(index, index + 60)),
  })).filter(({ is }) => is !== null)
