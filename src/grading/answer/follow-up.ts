import { everyNumberInWords } from '../number-words.ts'
import { withoutWork } from './calculation.ts'
import { wordPattern } from './known-words.ts'
import { isDisguised } from './lead-in.ts'
import { isDoubtedAfter } from './remarks.ts'
import { unitName } from './units.ts'
import { isWithdrawn } from './withdrawal.ts'
import {
  type Another,
  apostrophe,
  copula,
  doubt,
  falsity,
  list,
  narrow,
  negation,
  type Objection,
} from './wording.ts'

const subject = `(?:(?:but|and|though|although|however|yet|still|only|except)[\\s,]+){0,3}(?:which|that|this|it|they|these|those|he|she|I|we|one|the|my|our|above|previous|last|boxed|given|stated|final|answer|value|number|result|option|choice|letter|solution|conclusion|claim|statement|reasoning|calculation|[\\s,]){0,8}`
const verdict = `\\s*(?:${copula}|would\\s+be|must\\s+be|has\\s+been|can\\s+be|could\\s+be|may\\s+be|might\\s+be)?\\s*(?:(?:\\w+ly|so|all|just|still|also|totally|quite|very|a|an|the)\\s+){0,3}`
const tailDenial = new RegExp(
  `^[\\s,;:–—\\-([]*(?:(?!because|since|as\\b|while|and\\b|but\\b|for\\b|so\\b|where|which|not\\b)[\\p{L}.°%]+\\s+){0,2}?${subject}${verdict}(?:${negation}\\b(?!\\s+(?:only|just|surprising))|${falsity}(?![\\p{L}\\p{N}])|no\\s+(?:good|longer|way)\\b|out(?!\\s+of)\\b|out\\s+of\\s+the\\s+question|mis(?:counted|calculated|read|took|taken)|(?:the\\s+)?one\\s+to\\s+(?:cross|avoid|eliminate|exclude|reject|rule|discard|skip|drop)|what\\s+(?:you|one|we|they|some|many|most|people)\\b[^.!?]{0,40}\\b(?:error|mistake|forget|ignore|overlook|careless)|ruled\\s+out|${list('a_mistake mistake a_misprint misprint a_typo an_error a_lie a_trap a_guess a_joke lie')}\\b)`,
  'iu',
)
/** Words after counted things that say what is true of the things: `42 eggs were not sold`. */
const described = new RegExp(
  `^\\s+(?:false|wrong|incorrect|invalid)\\s+(?!(?:this|thus|unless|always|plus|minus|yes|perhaps|sometimes)\\b)\\p{L}{3,}s(?:[\\s.,;!]|$)|^\\s+(?:(?!${copula}\\b|not\\b|never\\b)\\p{L}+\\s+){1,2}(?:are|were|have|had|do|did|will)(?:\\s+(?:not|never)|n${apostrophe}t)\\s+(?!(?:right|correct|true|the|my|an?|so|it|valid|accurate|possible|certain|sure)\\b)\\p{L}`,
  'iu',
)
/** `56 is a common wrong answer`, `56 is what people say`. */
const calledWrong =
  /^[\s$)\]*]*(?:is|was)\s+(?:what|the\s+(?:number|answer|value|figure)(?:\s+that)?)\s+(?:(?:most|some|many)\s+)?(?:people|students|they|others|everyone|everybody|guessers)\s+(?:\p{L}+\s+)?(?:give|say|guess|think|answer|expect|shout)s?(?![\p{L}])|^[\s$)\]*]*(?:is|was|would\s+be)\s+(?:an?|one|the|another)\s+(?:[\p{L}-]+\s+){0,3}(?:wrong|incorrect|false|mistaken|erroneous)\s+(?:answer|result|value|option|choice|solution|guess|reply)(?![\p{L}])/iu
/** What others get wrong: `(a common mistake is to answer 41)`. */
const ofOthers =
  /^[\s,;:–—\-(]*(?:a|the|one|another)\s+(?:\w+\s+)?(?:mistake|error|trap|pitfall)\s+(?:here\s+)?(?:is|was|would)\b/i
const doubtNext = new RegExp(`^\\s*(?:or|${doubt}|not\\s+sure|right)(?![\\p{L}])`, 'iu')
/** What cannot be done to an answer any more: `which can't be reduced further`. */
const inSimplestForm =
  /^[\s,;–—(]*(?:which|and|it|that|this)?\s*(?:it\s+)?(?:can(?:not|['’]t)|does\s+not|doesn['’]t|is\s+not)\s+(?:be\s+)?(?:further\s+)?(?:reduced?|simplif(?:y|ied)|factor\w*|cancel\w*|improved?|reducible)\b/i
const bareNegation =
  /^[\s,;:–—\-(]*(?:not|no(?!\s+(?:doubt|question|matter|wonder)\b)|nope|never|false|wrong)\b/i
const contrast =
  /^[\s,;:–—\-(]*(?:and\s+|but\s+)?(?:not|rather\s+than|instead\s+of)\s+(?:by\s+|the\s+|just\s+|merely\s+|option\s+)?\(?(?:-?[\d.,/]+|[A-Z]|[\p{L}]+)\)?[\s.,;)]*/u
/** Other answers that are called wrong, at the end of a sentence. */
const others =
  /[;,–—]\s(?:while\s|but\s|and\s)?\(?(?:[A-Z]|-?\$?\d[\d.]{0,20})\)?(?:(?:,\s(?:and\s)?|\sand\s|\s&\s)\(?(?:[A-Z]|-?\$?\d[\d.]{0,20})\)?){0,6}\s(?:is|are|was|were)\s(?:all\s|both\s)?(?:wrong|incorrect|false|(?:an?\s)?(?:[\p{L}-]+\s){0,2}(?:myths?|misconceptions?|distractors?|traps?)|not\s[\p{L}\s]{1,30}|the\s(?:others?|remaining|rest)(?:\s\p{L}+){0,2})\s*$/u
const hedges = new RegExp(
  `(?<![\\p{L}])(?:${doubt}|or|either|unless|if|wrong|incorrect|false|not\\s+sure|unsure|versus|vs|或|还是|可能)(?![\\p{L}])|\\?`,
  'iu',
)

/** Words after an answer, in its own clause, and what they say of it. */
const wordsAgainst = new Map<string, Objection>(
  Object.entries({
    inequality: `max min upward upwards onward onwards tops minimum maximum`,
    extended: `basis bps tens hundred hundreds thousand thousands million millions billion billions trillion trillions quadrillion
      quintillion dozen dozens gross mn bn lakh lakhs crore crores myriad halves thirds fourths fifths
      sixths sevenths eighths ninths tenths hundredth hundredths thousandth thousandths millionth
      millionths twice thrice doubled tripled halved plus minus divided multiplied squared cubed factorial
      mod modulo octal hex hexadecimal binary negative backwards reversed inverted negated exponent mil millones millionen tausend
      milliarden mille`,
    conditional: `if unless assuming supposing provided depending`,
    doubted: `maybe perhaps possibly probably presumably likely unlikely might could unsure doubtful allegedly
      supposedly ish vielleicht quizás suppose tentative provisional tbd tbc something whatever`,
    denied: `not never neither nor none nope no cannot wrong incorrect false untrue mistaken erroneous invalid
      impossible except excluding excepting without kidding joking jk fails failed lies lie lying fabricated invented
      nonsense oder ou nicht pas kein falsch faux falso или не нет`,
  }).flatMap(([objection, words]) =>
    words.split(/\s+/).map((word) => [word, objection as Objection] as const),
  ),
)
const stops = new Set(
  `because since as so which where who whose that of out in per for from at on by with after before when while
  than due given thus hence therefore total altogether is are was were
  dans en pour avec par mit aus bei für auf con para por von`.split(/\s+/),
)

/**
 * What the text right after an answer says of it, to the end of its sentence. `another` matches a further
 * answer of the same kind at its start and tells whether it is the same one.
 */
export function followUp(after: string, another: Another, question = ''): Objection | null {
  if (after === '') return null
  const near = narrow(after.slice(0, 1000))
  const plain = near.includes('.') ? near.replace(/\b(vs|w\.p|approx|resp|ca|etc|i\.e|e\.g)\./gi, '$1') : near
  const end = plain.search(/[.!?](?=\s|$|["'”’)*])|[。！？]|\n/)
  const sentence = end < 0 ? plain : plain.slice(0, end)
  if (
    /^\s*[*_)\]}"'”’`$\\]*\s*\?/.test(plain) ||
    ((plain[end] === '?' || plain[end] === '？') && sentence.length < 80)
  )
    return 'doubted'
  const bare = sentence.replace(/^[\s*_)\]}"'”’`$]+/, (dress) => (dress.includes(' ') ? ' ' : ''))
  const worked = withoutWork(withoutAskedUnit(bare, question), another)
  if (worked === null) return 'extended'
  // The same number in words.
  const rest = worked
    .replace(precise, ' ')
    .replace(/^\s?\(([\p{L}\s-]{3,120})\)/u, (all, words: string) =>
      /\d|\b(?:or|not)\b/i.test(words) || another(words) !== 'same' ? all : '',
    )
    .replace(everyNumberInWords, (words) =>
      /[\s-]/.test(words) && another(words) === 'same' ? 'that' : words,
    )
    .replace(/,?\s(?:or|i\.?e\.?|that\s+is),?\sthat(?![\p{L}])/u, '')
  // "is right; A and C are wrong"
  const ruledOut = others.exec(rest)
  if (
    ruledOut?.[0]
      .split(/\b(?:is|are|was|were)\b/)[0]
      ?.match(/[A-Z]\b|-?\$?\d[\d.]*/g)
      ?.every((value) => another(value) === 'other')
  )
    return followUp(rest.slice(0, ruledOut.index), another, question)
  // "is the answer, not $36$"
  const other = /,\s+(?:and\s+)?not\s+(\$?-?[\d\\A-Z][^\s,;]*)(?:\s\([^()]{1,80}\))?/.exec(rest)
  if (other && another((other[1] ?? '').replace(/^\$/, '')) !== 'same')
    return followUp(
      `${rest.slice(0, other.index)}${rest.slice(other.index + other[0].length)}`,
      another,
      question,
    )
  if (contrast.test(rest)) {
    const [taken = ''] = contrast.exec(rest) ?? []
    const word = /(\S+?)[\s.,;)]*$/.exec(taken)?.[1] ?? ''
    if (
      !/^(?:really|exactly|quite|sure|at|the|it|right|correct|true|so|a|an|even|that|this|anymore|yet|necessarily|be|always|entirely|certain)$/i.test(
        word,
      )
    )
      return another(word.replace(/^\(/, '')) === 'same' ? 'denied' : null
  }
  if (
    /^\s*(?:では(?:な[いく]|あり|ござ)|じゃ(?:な[いく]|あり)|でもない|で(?:はない|ない)|[은는이가]?\s*(?:아[니닌닙님녜]|틀)|не\b|нет|不是|不对|不正确|是错|错|有误|nicht|niet\b|inte\b|ikke\b|değil|नहीं|नही|ليس|نیست|নয়|pas\b|no\s+es)|\bwith\s+(?:a\s+)?(?:probability|chance|likelihood)\b|\b\d+\s*%\s+(?:sure|certain|likely|confident)/i.test(
      rest,
    )
  )
    return 'doubted'
  if (
    /\b(?:yeah,?\s+right|as\s+if|w\.\s?p\b|ou\s+talvez|o\s+quizás|ou\s+peut-être|oder\s+vielleicht)(?![\p{L}])/iu.test(
      rest,
    )
  )
    return 'doubted'
  if (
    /^[\s"”’]*(?:,?\s*(?:for\s+(?:example|instance)|e\.?g)\b|(?:was|is)\s+(?:the\s+|an?\s+|my\s+)?(?:answer|result|solution)\s+(?:to|of|for)\s+(?:the\s+|a\s+|my\s+)?(?:last|previous|other|another|earlier|next|different|old)\b|so\s+far|thus\s+far|for\s+now|at\s+this\s+point|(?:answers|solves|settles)\s+(?:another|a\s+different|the\s+wrong|some\s+other))\b/i.test(
      rest,
    )
  )
    return 'extended'
  if (
    /^[\s,)\]*]*(?:and\s+(?:counting|rising|falling|growing|climbing|dropping|increasing|decreasing|then\s+some|a\s+few|a\s+bit|a\s+little|change|so\s+(?:on|forth)|the\s+like|others?)\b|etc\b|to\s+be\s+continued\b|as\s+(?:an?|the)\s+(?:\w+\s+)?(?:trial|test|sample|example|placeholder|dummy|guess|filler|starting|candidate)\b)/i.test(
      rest,
    )
  )
    return 'extended'
  if (
    /^[\s$)\]]*(?:is|was)\s+(?:(?:the|a|an)\s+(?:reciprocal|inverse|opposite|negative|negation|square|cube|half|double|root|complement|logarithm)\s+of\b|[^.,;]{0,40}\b(?:of|for|to)\s+(?:another|a\s+different|some\s+other|the\s+wrong)\s+\w)/i.test(
      rest,
    )
  )
    return 'extended'
  if (
    /^[\s$)\]]*(?:is|was)\s+(?:only\s+|just\s+)?(?:an?|the)\s+(?:(?:upper|lower)\s+bound|(?:over|under)-?estimate)\b/i.test(
      rest,
    )
  )
    return 'inequality'
  if (
    /^[\s)\]"'”’]*(?:\p{L}+\s)?at\s+(?:the\s+)?(?:very\s+)?(?:most|least|best|worst|latest|earliest)\b/iu.test(
      rest,
    )
  )
    return 'inequality'
  if (
    /\b(?:have|has|had|is|there['’]s|got)\s+(?:no|not\s+(?:an?|my|the))\s+(?:final\s+|real\s+)?(?:answer|result|solution)\b/i.test(
      rest,
    )
  )
    return 'denied'
  if (calledWrong.test(rest)) return 'denied'
  const isOfThings = described.test(rest)
  if (
    !isOfThings &&
    (bareNegation.test(rest) || (tailDenial.test(rest) && !ofOthers.test(rest) && !inSimplestForm.test(rest)))
  )
    return 'denied'
  if (!isOfThings && isDoubtedAfter(rest, another, question)) return 'doubted'
  if (isDisguised(rest)) return 'denied'
  if (
    /^[\s,]*(?:[\p{L}]+\s+)?(?:too\s+(?:many|few|much|little|high|low|large|small)|short|shy|off|times\s+that)(?![\p{L}])/iu.test(
      rest,
    )
  )
    return 'extended'
  if (/long|case|event|depend|subject|condition|conting/i.test(rest) && dependent.test(rest))
    return 'conditional'
  if (elsewhere.test(rest) || /^\s*(?:\p{L}+\s)?otherwise(?!\p{L})/iu.test(rest)) return 'conditional'
  if (undecided.test(rest)) return 'doubted'
  const conceded = concession.exec(rest)
  if (conceded !== null && another(conceded[1] ?? conceded[2] ?? '') === 'other') return 'several_answers'
  const alternative = wordsAfter(isOfThings ? rest.replace(/\b(?:not|never)\b/i, ' ') : rest, another)
  if (alternative !== null) return alternative
  const [reasoned = ''] = rest
    .replace(/[^\s,;]{1,40}\s?=\s?[^\s,;]{1,40}/g, ' ')
    .replace(/[(:]([^():]{1,200}(?:\)|$))/g, (all, inner: string) => (inParts.test(inner) ? ' ' : all))
    .replace(/\b(?:or|and)\s(\$?\d[^,;]{0,40})/g, (all, rate: string) => (asRate.test(rate) ? ' ' : all))
    .split(/\b(?:because|since|as|given|where|which|divisible)\b/, 1)
  for (const { index, 0: sign } of reasoned.matchAll(/[,;](?!\d)|\b(?:and|or|otherwise|else)\b/gi)) {
    const next = reasoned.slice(index + sign.length).replace(connecting, '')
    if (!/^\s*(?:not|rather)\b/i.test(next) && another(next) === 'other') return 'several_answers'
  }
  const bracket = /^[^(]{0,60}\(([^)]*)\)?/.exec(rest)
  if (bracket && hedges.test(withoutSame(bracket[1] ?? '', another))) return 'doubted'
  return null
}

/** Without an abbreviated unit of the question right behind a number: `min` is no minimum where minutes are asked for. */
function withoutAskedUnit(rest: string, question: string): string {
  const [all = '', word = ''] = /^\s?(\p{L}{1,4})\b/u.exec(rest) ?? []
  const name = unitName(word)
  return name !== word &&
    question !== '' &&
    (question.toLowerCase().match(wordPattern) ?? []).some((other) => unitName(other) === name)
    ? rest.slice(all.length)
    : rest
}

const condition =
  /^\s*(?:if|unless|assuming|provided|supposing|sofern|falls|vorausgesetzt|pourvu\s+que|à\s+condition|siempre\s+que|suponiendo|a\s+condición|при\s+условии)(?![\p{L}])/iu
/** Another case than the question's. */
const elsewhere =
  /^[\s*_)\]]*(?:\p{L}+\s)?(?:under|in|with|on)\s+(?:an?\s+)?(?:other|different|another|some\s+other|alternative)\s+(?:set\s+of\s+)?(?:assumption|condition|circumstance|case|world|universe|reading|interpretation|scenario|version|edition|problem|question)s?\b/iu

/** How precisely an answer is given: `to three decimal places`, `correct to 2 s.f.`. */
const precise =
  /,?\s\(?(?:(?:when\s+)?(?:correct|rounded|accurate|given|expressed)\s+)?(?:to|with|at)\s+(?:\d|one|two|three|four|five|six)\s+(?:(?:decimal|significant)\s+)?(?:places?|digits?|figures?|decimals?|d\.?p|s\.?f|sig\.?\s?figs?)(?![\p{L}])\.?\)?/iu

/** The words in a bracket without the same answer in another spelling: `(or 3/4)`. */
function withoutSame(inner: string, another: Another): string {
  const value = inner.replace(/^\s*(?:or|i\.?e\.?,?|that\s+is,?)\s+/i, '')
  return another(value) === 'same' ? value : inner
}

/** A part of something: `(4 of the 6 trays)`. */
const inParts =
  /^\s*(?:that\s+is,?\s+|i\.?e\.?,?\s+)?\$?\d[\d.,]*\s(?:\p{L}+\s)?(?:of|out\s+of|per|for|at|from|each|a|an|in\s+each|on\s+each)\b/u

/** The answer as a rate: `or 800 per day`. */
const asRate = /^\$?\d[\d.,]*\s(?:\p{L}+\s)?(?:per|each|an?)(?![\p{L}])/u
/** Another answer that is conceded beside the first. */
const concession =
  /,\s*(?:but|though|although|yet|however)\s+(?:also\s+)?\(?([A-Z]|-?\$?\d[\d.,]{0,20})\)?\s(?:\p{L}+\s){0,3}(?:also|too|accept\w*|possible|equal(?:ly)?|better|works|fits|as\s+well)\b|,\s*(?:but|and)\s+so\s+(?:does|do|is|are|would|might)\s+\(?([A-Z]|-?\$?\d[\d.,]{0,20})(?![\p{L}])/u
/** A condition after the answer, in its own clause. */
const dependent =
  /^[^.!?;:]{0,40}?(?:\b(?:as|so)\s+long\s+as|\bin\s+(?:the\s+)?(?:case|event)\s+(?:of|that)|\bin\s+the\s+(?:best|worst)\s+case|\bdepend(?:s|ing)\s+on|\bsubject\s+to|\bon\s+(?:the\s+)?condition|\bcontingent\s+on)\b/i
const undecided =
  /^[\s,;–—(-]*(?:but\s+)?(?:would\s+(?:hold|apply|work|follow|be|do|suffice|fit|match)\b[^.!?]*\b(?:but|if|for\s+an?|in\s+an?|only|were|had)\b|(?:is|was)\s+what\s+(?:an?|some|most|many|the|my)\s+[^.!?]{1,60}\b(?:would|might|could|may|will|says?|thinks?|claims?|writes?|wants?)\b|(?:should|must|has\s+to|needs\s+to|ought\s+to)\s+(?:be|get)\s+(?:replaced|changed|corrected|ignored|disregarded|discarded|fixed|removed|deleted|swapped|rejected)|is\s+(?:just|only|merely|but)?\s*(?:an?|the)\s+(?:intermediate|partial|preliminary|provisional|temporary|rough)\b|(?:was|is)\s+my\s+(?:first|initial|previous|old|earlier)\b|for\s+some\b|I\s+(?:suppose|guess|reckon)\b|I\s+(?:think|believe)\b[\s,]*(?:but|though)\b|who\s+knows\b|to\s+be\s+(?:confirmed|checked|verified|determined|decided)\b|(?:needs?|awaiting|pending)\s+(?:\w+\s+)?(?:check|confirm|verif|review)|(?:unverified|unchecked|unconfirmed|placeholder|rejected|retracted|withdrawn)\b)/i

/** Words and signs between an answer and another one. */
const connecting =
  /^[\s$*_("'“‘[\\/]*(?:(?:I\s+mean|in\s+words|however|sorry|rather|well|no|scratch\s+that|correction|wait|otherwise|者|or|and|even|also|maybe|perhaps|possibly|either|alternatively|option|choice|the|else|then|answer)(?![A-Za-z])[\s,:/$*_("'“‘[\\]*)*/i

/** Reads the words between an answer and the end of its clause. */
function wordsAfter(rest: string, another: Another): Objection | null {
  if (
    /^\s*(?:and|or)\s+(?:above|below|over|under|up|upwards?|more|less|fewer|beyond|higher|lower)\b/i.test(
      rest,
    )
  )
    return 'inequality'
  if (/^\s*,?\s*(?:\\[lc]?dots|\.\.\.|…)/.test(rest)) return 'extended'
  if (/[✗✘❌✖❎🚫⛔👎🤷]|^[*_)\]$\s]*⊥/u.test(rest)) return 'denied'
  if (
    /^\s*(?:多|余|以上|以下|未満|未满|以内|万|千|百|億|亿|兆|만|천|억|тысяч|миллион|मिलियन|हज़ार|ألف|مليون)/u.test(
      rest,
    )
  )
    return 'extended'
  const pieces = rest.matchAll(
    /[\u4e00-\u9fff]|[\u3040-\u30ff]+|[\uac00-\ud7af]+|[\p{L}\p{M}'’]+|[-–]?\\?\$?[\d.][\d.,/]*|[,;(—–&/|:]|[^\s]/gu,
  )
  let count = 0
  for (const { 0: piece, index } of pieces) {
    const word = piece.toLowerCase()
    const following = rest.slice(index + piece.length)
    if (
      /^(?:or|and|and\/or|to|through|till|until|nor|vs|versus|but|oder|und|ou|et|o|y|u|или|и|或者?|和|还是|至|到|または|か|もしくは|또는|혹은|이나|[,;/|&–—])$/u.test(
        word,
      )
    ) {
      const next = following.replace(connecting, '')
      const found = another(next)
      if (found === 'other') return asRate.test(next) ? null : 'several_answers'
      if (found === 'same' && !/^to$/.test(word))
        return wordsAfter(next.replace(/^\S+(?:\s(?:%|million\b))?/, ''), another)
      if (/^(?:or|oder|或者?|还是|или|または|か|もしくは|또는|혹은)$/u.test(word)) {
        return /^\s*so\b/.test(following) ? 'doubted' : 'several_answers'
      }
      if (
        word === 'and' &&
        /^\s*(?:a\s+half|a\s+quarter|half|one|two|three|some|a\s+bit|change)\b/i.test(following)
      )
        return 'extended'
      if (/^[,;—–]$/.test(word) && isWithdrawn(`\n${following}`, another)) return 'withdrawn'
      if (/^[,;—–]$/.test(word)) {
        if (condition.test(following)) return 'conditional'
        if (doubtNext.test(following)) return 'doubted'
        if (
          /^\s*(?:but|though|although|however|yet)\b[^.!?]{0,40}?\b(?:(?:could|might|may|can)\s+(?:also\s+|well\s+)?be|not\s+(?:sure|certain)|unsure)\b/i.test(
            following,
          )
        )
          return 'doubted'
        return tailDenial.test(following) && !contrast.test(following) ? 'denied' : null
      }
      if (word === 'to' || word === 'but') return null
      if (word === 'and' || word === '&' || word === 'und' || word === 'et' || word === 'y' || word === '和')
        return null
      continue
    }
    if (word === '(' && isWithdrawn(`\n${following}`, another)) return 'withdrawn'
    if (word === '(' || word === ':')
      return another(following.replace(/^\s*(?:or\s+)?/, '')) === 'other' &&
        !/^[^)]*(?:[=×+]|\d\s?\*)/.test(following) &&
        !inParts.test(following)
        ? 'several_answers'
        : null
    if (word === 'as' && /^\s+well\s+as\b/i.test(following)) return 'several_answers'
    if (/^(?:over|during|within|across|throughout)$/.test(word) && !/^\s*[\d(]/.test(following)) return null
    if (stops.has(word)) {
      if (word === 'in' && /^\s*(?:binary|hex|hexadecimal|octal|base|radix|modulo|mod)\b/i.test(following))
        return 'extended'
      return null
    }
    const against =
      /^(?:false|wrong|incorrect|invalid)$/.test(word) && described.test(` ${piece}${following}`)
        ? undefined
        : wordsAgainst.get(word)
    if (against !== undefined) return against
    if (word === 'times' && /^\s*(?:\d|two|three|four|five|ten|as)/i.test(following)) return 'extended'
    if (another(rest.slice(index)) === 'other') return 'several_answers'
    if (++count > 6) return null
  }
  return null
}
