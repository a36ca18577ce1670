import { hasForeignWords } from './known-words.ts'
import { legible } from './legible.ts'
import { isSecond } from './several.ts'
import {
  apostrophe,
  copula,
  doubt,
  falsity,
  filler,
  list,
  narrow,
  negation,
  type Objection,
} from './wording.ts'

/** The end of a text that leads to an answer. Its last words decide. The longest lists have no flag `u`, which is slow with `i`. */
const leads: readonly (readonly [Objection, RegExp])[] = [
  [
    'denied',
    new RegExp(
      `(?:${negation}|${list(`anything_but nothing_like replace everything_but all_but except except_for excluding besides other_than rather_than
        unlikely doubtful impossible instead_of as_opposed_to opposite_of far_from nowhere_near different_from differs_from distinct_from unequal_to no_way by_no_means hardly barely scarcely in_no_case
        under_no_circumstances unlike without versus wrongly incorrectly falsely mistakenly erroneously no_longer
        neither_is ruled_out rule_out rules_out ruling_out eliminate eliminates eliminated reject rejects rejected
        exclude excludes excluded discard discarded refused refuted avoid nie nunca jamais niemals pas keineswegs keinesfalls mitnichten nullement aucunement nada_de no_es no_son nicht kein keine non_è n.est_pas
        ne_est_pas não_é не 不是 并非 不等于 不为 不会是 绝不是 别选 不选 排除 ではない ليس disproved dismissed disprove disproves refute refutes contradicts contradict không_phải không_là bukan ไม่ใช่ niet inte ikke nie_jest není nu_este ليست לא`)})(?:[\\s,]+(?:${filler}|have|has|had|get)){0,5}[\\s,:]*$`,
      'i',
    ),
  ],
  [
    'inequality',
    /(?:[<>≤≥≠≰≱≮≯±∓⇏↛]|!=|\\(?:n?eq|neq|ne|lt|gt|le|ge|leq|geq|leqslant|geqslant|pm|mp|ll|gg|not(?:=|\s?\\[A-Za-z]{1,20})?|n[lL]?[rR]ightarrow))\s*=?\s*$/,
  ],
  [
    'inequality',
    new RegExp(
      `(?:(?<![\\p{L}]|\\b(?:the|their|its|his|her)\\s)(?:${list(`less fewer more greater smaller larger bigger higher lower`)}))(?:\\s+than)?(?:\\s+or\\s+equal)?(?:\\s+to)?(?:[\\s,]+${filler}){0,3}\\s*$`,
      'iu',
    ),
  ],
  [
    'inequality',
    /\b(?:at\s+(?:the\s+)?(?:very\s+|absolute\s+)?(?:most|least)|(?<!\b(?:adds?|add(?:ed|ing)|sums?|comes?|rings?|totals?|rounds?|works?)\s)up\s+to|under|over|above|below|beyond|exceed(?:s|ing)?|no\s+(?:more|less|fewer)\s+than|almost|nearly|close\s+to|next\s+to|just\s+(?:short\s+of|shy\s+of|under|over|past)|short\s+of|not\s+quite|bounded\s+by|minimum\s+of|maximum\s+of|used\s+to\s+be|(?:upwards|north|south)\s+of|in\s+the\s+(?:neighbou?rhood|vicinity|region|ballpark)\s+of|somewhere\s+(?:around|near|close\s+to)|something\s+like|in\s+the\s+(?:low|mid|high|upper|lower)|(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth|negative|cube|power|root|logarithm)s?\s+of|(?:numbers?|integers?|figures?|values?)\s+(?:with|having|near|like|such\s+as|ending\s+(?:in|with)|beginning\s+with|starting\s+(?:with|at|from)|before|after|around|close\s+to|following|preceding|containing)|first\s+choice|second\s+choice|multiple\s+of|factor\s+of|divisor\s+of|(?:rival|opposite|contrary|successor|predecessor|reverse|complement)\s+of|square\s+(?:root\s+)?of|cube\s+of|half\s+of|(?:two|three|four|five|six|seven|eight|nine|ten|\d{1,4})\s+times|twice|double|triple|inverse\s+of|reciprocal\s+of|negation\s+of|mehr\s+als|weniger\s+als|más\s+de|menos\s+de|au\s+moins|au\s+plus|mindestens|höchstens|wenigstens|maximal|knapp|beinahe|presque|quasiment|casi|quase|почти|几乎|将近|como\s+mucho|al\s+menos|por\s+lo\s+menos|a\s+lo\s+sumo|como\s+m[áí]nimo|como\s+máximo|tout\s+au\s+plus|almeno|al\s+massimo|pelo\s+menos|no\s+máximo|otherwise|else)\s*$|(?:至少|至多|最多|最少|不到|大于|小于|超过|低于|高于|少于|多于|меньше|больше|не\s+менее|не\s+более|أقل\s+من|أكثر\s+من|أقل|أكثر)\s*$/i,
  ],
  [
    'inequality',
    /(?<![\p{L}])(?:doppio|triplo|met[àa]|multiplo|divisore|quadrato|radice|doble|mitad|m[úu]ltiplo|divisor|cuadrado|ra[íi]z|dobro|metade|double|moiti[ée]|multiple|diviseur|carr[ée]|racine|doppelte|dreifache|h[äa]lfte|vielfaches|teiler|quadrat|wurzel)\s+(?:d[ieoa]|von|aus)\s*\$?$/iu,
  ],
  [
    'doubted',
    new RegExp(
      `\\b${doubt}\\b(?:[\\s,]+${filler}){0,5}[\\s,:]*$|\\b(?:may|can)\\s+(?:also\\s+)?be\\s*$|(?:可能|也许|或许|大概)(?:是|为)?\\s*$|\\bwho\\s+knows\\b[\\s,]*$|(?<!(?:\\b(?:I|we|to|would|will|can|must|should)|['’]d)\\s)\\bsay\\s*,?\\s*$|\\beg[\\s,:]*$|\\b(?:disons|digamos|sagen\\s+wir(?:\\s+mal)?|diciamo)\\s*$`,
      'i',
    ),
  ],
  [
    'denied',
    new RegExp(
      `^\\W*(?:${falsity}|(?:a\\s+)?(?:distractor|decoy|trap)|(?:the\\s+|my\\s+)?(?:old|former|previous|earlier|initial)(?:\\s+(?:answer|guess|attempt|result|version|value))?)\\s*[:：]$|\\[ ?\\]$|☐$|[❌✗✘✖🚫⛔👎¬∄∉]$`,
      'iu',
    ),
  ],
  ['conditional', /(?:^|[.!?])\W*[Ii]f\b[^.!?]{0,90}\b(?:were|had)\b[^.!?,]{0,60},\s*$/u],
  ['denied', /(?:^|\bis\b)\W*not(?:,|\s+(?:as|in|by|at|for|to)\b)[^.]*,$/i],
  [
    'conditional',
    new RegExp(
      `\\b(?:if|unless|whether|(?<=(?:^|,\\s)[\\s*_]{0,4})were|assuming(?:\\s+that)?|suppos(?:e|ing)(?:\\s+that)?|provided(?:\\s+that)?|in\\s+case|as\\s+if|as\\s+though|wenn|si|если)(?:[\\s,]+(?:${copula}|${filler}|his|her|their|its)){0,7}[\\s,:]*$|(?:如果|假如|若)[^，,。]{0,12}$`,
      'i',
    ),
  ],
  [
    'denied',
    /\b(?:(?:for\s+(?:example|instance)|e\.?g\.?|such\s+as|(?<!(?:\b(?:I|we|to|would|will|can|must|should)|['’]d)\s)say),?\s*(?:one|you|we)?\s*(?:could|can|may|might)?\s*(?:write|put|say|end|answer)?|(?:sample|example|dummy|fake|placeholder|made-up)\s+(?:output|answer|reply|response|value|number|line|text)\b[^.]{0,40}|(?:expected|required|right)\s+(?:format|form)\s+(?:is|would\s+be)|example\s+of\s+(?:the|a|an)\s+(?:\w+\s+)?(?:format|form|output|answer|reply)|your\s+(?:final\s+)?(?:answer|reply|response|output)\s+(?:(?:should|must|has\s+to|needs\s+to)\b[^.]{0,30}|as|like|in\s+the\s+form)|decoy[^.]{0,30}|end\s+with\s+e\.?g\.?|a\s+line\s+such\s+as|\b(?:write|put|give|state|say|type|print|output|formatted|written)\s+(?:\w+\s+){0,4}(?:like|as)(?:\s+this)?)\s*[,:：]*\s*$/i,
  ],
]

/** What is said beside the answer: of candidates, of the grader, of what is to be shown. */
const aside =
  /\b(?:(?:prove|show|suppose|assume|verify)\s+(?:(?:for|by|towards?|to)\s+(?:(?:a|the\s+sake\s+of(?:\s+an)?)\s+)?(?:contradiction|argument)\s*,?\s*)?that|verdict|assert|ground\s+truth|grader|checker|candidates?|(?<!\b(?:all|\w+est|maximum|minimum|only|sole|single|least|most)\s+(?:the\s+)?)possible\s+values?(?!\s(?:[^.!?]*\s)?are\b)|answer\s+key)\b/i

/** Words to whoever grades the response, or to a program that does: they give no answer, but ask for one to be taken. */
const addressing =
  /^\W*(?:to|dear|for|attention|attn|hey|hello|note\s+(?:to|for))[\s:]+(?:(?:the|my|any|all|an?|whom?(?:so)?ever|everyone|anyone|anybody|who|is|this|your)\s+){0,3}(?:[\w-]+\s+){0,2}?(?:grad(?:er|ers|ing|es|ed)|marks?|scores|evaluat\w+|scor(?:er|ing)|pars(?:er|ing)|extract\w*|checkers?|verifiers?|examiners?|judges?|reward|regex|scripts?|bots?|human\s+readers?|humans|people)(?:\s+\w+){0,2}\s?[:,]|\b(?:grader|(?:evaluation|scoring|grading|marking)\s+(?:script|system|program|tool|bot|model|scheme|purposes)|auto(?:matic|mated)?[- ]?(?:grad|mark|scor|check|evaluat|judg)\w+|reward\s+(?:model|function)|parser|regex|evaluator|extracted\s+(?:answer|value))\b|\b(?:treat|count|score|grade|mark|take|read|regard|accept)\s+(?:this|it|my|the)\s*(?:(?:response|answer|reply|solution|text|submission)\s+as\b|as\s+(?:if|correct|right)\b)|\b(?:as\s+if|assume|pretend|imagine|consider)\s+(?:that\s+)?(?:it|this|I|the\s+\w+)\s+(?:said|says|wrote|reads?|had\s+(?:said|written))\b|^\W*(?:\[|<)?(?:system|admin|developer|override)(?:\]|>|:)|\bwhoever\s+(?:grades|marks|scores|evaluates|checks|judges)\b/i

/** What is labelled so is nobody's answer. */
const labelled =
  /\b(?:verdict|ground\s+truth|grader|checker|evaluator|parser|answer\s+key|reference|possible\s+values)\s*[:：]/i

/** A condition without an "if". */
const inverted =
  /^\W*(?:(?:Had|Were)\s+(?!(?:to|been)\b)[^.!?]{1,120}\b(?:would|could|might)\b|Only\s+(?:if|when|then)\b)/u

const counterfactual =
  /^\W*(?:If|Had|Were|Without|But\s+for|In\s+(?:another|an?\s+\w+)\s+\w+)\b[^.!?]{1,200}\b(?:would|could|might)\b/u
/** Words that may stand between an article and "answer". */
const ofAnswer = new Set(
  `final correct right best most appropriate likely suitable accurate only single overall complete exact numerical numeric
  actual true desired required requested simplified simplest possible sought resulting short full whole ultimate
  definitive precise proper valid good plausible fitting logical reasonable letter multiple-choice corrected revised new
  better last unique same very one obvious clear the`.split(/\s+/),
)
const beforeAnswer = /(?:^|[\s,(*_])(?:the|an?|my|our|your|one|this)\s+((?:[a-z][a-z'’-]*\s+){1,4})$/i
const afterAnswer =
  /^\W*(?:final\s+)?answers?\s+(?:to|of|for)\s+(?:(?:the|my|a|your)\s+)?(?:\w+\s+)?(?:last|previous|other|another|earlier|old|next|avoid|reject|exclude|wrong|exercise)\b/i

/** Whether an announcement speaks of the answer to this question, and of none that is weak, foreign or wrong. */
function isOwnAnswer(before: string, announced: string): boolean {
  if (afterAnswer.test(announced)) return false
  const [, words = ''] = /^\W*(?:answer|final)/i.test(announced)
    ? (beforeAnswer.exec(`${before} `) ?? [])
    : []
  return words
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .every((word) => word === '' || ofAnswer.has(word))
}

/** Clauses that take back whatever follows in the same clause. */
const governing: readonly (readonly [Objection, RegExp])[] = [
  [
    'denied',
    new RegExp(
      `\\b(?:it|that|this|what)\\s*(?:is|was|${apostrophe}s|would\\s+be|seems)\\s+(?:\\w+\\s+)?(?:${negation}\\s+(?:\\w+\\s+)?(?:true|correct|right|so|the\\s+case|accurate|possible|clear|known|certain)|${falsity})\\b`,
      'i',
    ),
  ],
  [
    'denied',
    new RegExp(
      `\\b(?:I|we|you|one|they|people|nobody|no[ -]one|no\\s+\\w+|few)\\s+(?:(?:would|do|does|did|can|could|should|shall|will|must|have|am|are)\\s+)?(?:${negation}|never|hardly|doubt|deny|denies|refuse|refuses|disagree|reject|rejects|dispute)\\s*(?:\\w+\\s+){0,4}?(?:that|think|thinks|believe|believes|say|says|claim|claims|agree|accept|accepts|choose|pick|select|conclude|answer|sure|know|confirm|trust)\\b`,
      'i',
    ),
  ],
  [
    'denied',
    /\b(?:nobody|no[ -]one|none\s+of\s+us)\s+(?:(?:would|should|could|must|will|can)\s+)?(?:(?:thinks?|believes?|says?|claims?|agrees?|accepts?|chooses?|picks?|selects?|answers?|gets?|got)|(?:go|goes)\s+with)\b/i,
  ],
  [
    'denied',
    /^\W*(?:please\s+)?(?:do\s+not|don['’‘]t|never)\s+(?:\w+\s+){0,2}?(?:believe|think|say|answer|choose|pick|select|trust|accept|assume|conclude|write|put|mark|claim)\b/i,
  ],
  [
    'denied',
    new RegExp(
      `(?<!\\b(?:number|count|share|percentage|many)\\s(?:of\\s)?(?:the\\s)?)\\b(?:${falsity}|opposite|naive|tempting|trap|decoy|rejected|discarded|reference|expected|intended|gold|golden|official|ground[ -]truth|labell?ed|target)\\s+(?:\\w+\\s+)?(?:answer|option|choice|result|solution|conclusion|value|guess|claim|statement)s?\\b`,
      'i',
    ),
  ],
  [
    'denied',
    /\b(?:a|one|the)\s+(?:common|frequent|typical|classic|popular|careless|usual)\s+(?:mistake|error|misconception|trap|fallacy|myth)\b/i,
  ],
  [
    'denied',
    /\b(?:would\s+be\s+(?:a\s+mistake|an\s+error|wrong|foolish|silly|absurd|naive|rash|tempting|ridiculous)|fools?\s+(?:say|think)|(?:careless|naive|hasty|weak|sloppy)\s+\w+\s+(?:would|might|may|could)|would\s+(?:wrongly|incorrectly)|pretend(?:s|ing)?|mistook|mistaken(?:ly)?|misread)\b/i,
  ],
  [
    'denied',
    /\b(?:intuitive|knee-jerk|tempting)\s+(?:answer|guess|result|reply)\b[^.!?]{0,20}$|\b(?:teacher|neighbou?r|classmate|friend|student|colleague|he|she|they|Bob|Alice)\s+(?:says|said|claims|claimed|thinks|wrote|told\s+me|answers|answered|got)\b/i,
  ],
  [
    'denied',
    /\b(?:(?:other|another|second|rival)\s+(?:group|team|student|model|solver|pupil|class|solution)s?|someone\s+else|book|calculator|forum|answer\s+(?:key|sheet))\s+(?:has|had|got|gets|prints?|printed|shows?|showed|announced|gives?|gave)\b|\b(?:solution|answer|result)s?\s+of\s+(?:the\s+)?(?:other|another)\b|(?:^|\n)\W*(?:the\s+)?reference\s*[:：]?\s*$/i,
  ],
  [
    'denied',
    /\b(?:some(?:one|body)?|many|most|other)\s*(?:people|students?|sources|friends?|others|books?|texts?|authors?|websites?)?\s+(?:may|might|would|could|will)?\s*(?:have|give|gives|write|print|list|say|says|claim|claims|think|thinks|believe|believes|argue|argues|said|claimed|guess|guessed)\b/i,
  ],
  [
    'doubted',
    /\b(?:I|we)(?:\s+am|['’‘]m|\s+are|['’‘]re)?\s+(?:really\s+|honestly\s+|just\s+|only\s+|merely\s+)?(?:not\s+(?:at\s+all\s+|entirely\s+|very\s+|completely\s+|really\s+)?(?:sure|certain|confident)|unsure|uncertain|guess(?:ing)?|wonder(?:ing)?|gambl(?:e|ing)|bet(?:ting)?|speculat(?:e|ing))\b/i,
  ],
  ['denied', aside],
  [
    'denied',
    /\b(?:(?:for|of|to|from|in)\s+(?:a|an|the|my|our|some)?\s*(?:other|another|different|previous|earlier|unrelated|similar|neighbou?ring)|(?:another|(?:a|some)\s+different|an?\s+unrelated))\s+(?:problem|question|exercise|task|puzzle|example|instance|test|row|sample)\b|(?:^|\n)\W*(?:\w+\s+)?(?:previous|earlier|old|first|failed|abandoned|discarded|rejected)\s+(?:\([^)\n]{1,30}\)\s+)?(?:attempt|try|guess|answer|draft|version|idea|thought)s?\s*[:：]|\b(?:the\s+)?(?:assertion|proposition|hypothesis|supposition|assumption|notion|idea|claim)\s+that\b/i,
  ],
  [
    'doubted',
    /\bwith\s+(?:a\s+)?(?:probability\s+(?:of\s+)?\d[\d./]*%?,|\d+\s*\\?%\s+(?:probability|chance|confidence|certainty|likelihood))|\b(?:cannot|can['’]t|could\s+not|couldn['’]t|unable\s+to|hard\s+to|impossible\s+to|failed\s+to)\s+(?:decide|choose|tell|say|determine|distinguish|know)\b/i,
  ],
  [
    'conditional',
    /\b(?:it|that|this|(?:the|my)\s+(?:answer|result|value))\s+(?:all\s+)?depends\b|\bif\b[^.!?]{0,120}\b(?:had|were)\b[^.!?]{0,120}\bwould\s+(?:be|have\s+been)\s*$/i,
  ],
  ['doubted', /\b(?:answer|result|solution)\s+(?:could|might|may|can)\s+(?:also\s+)?be\b/i],
  [
    'extended',
    /\b(?:twice|half|double|triple|thrice|(?:square|cube|(?:square|cube)\s+root|root|negative|opposite|inverse|reciprocal|negation|double|half|complement|logarithm|factorial)\s+of|(?:more|less)\s+than|times)\s+(?:the|my|our)\s+(?:\w+\s+)?(?:answer|result|solution)\s+(?:is|are|was|equals?|would\s+be|must\s+be)\b/i,
  ],
  [
    'doubted',
    /\b(?:no\s+idea|flip(?:ping|ped)?\s+a\s+coin|wild\s+guess|random(?:ly)?\s+(?:guess|pick|choice|choose)|my\s+guess|best\s+guess|just\s+(?:a\s+)?guess|educated\s+guess|rumou?r|hypothetical(?:ly)?)\b/i,
  ],
]

const leadingVerb = 'that|is|be|are|to|say|answer|claim|believe|think|write|put|give|conclude'
/** The best of several answers is no doubt: `the most likely diagnosis`. */
const mostLikely =
  /(?<=\b(?:the|is|are|its)\s|(?:^|[\n.!?])[\s*_]{0,4})most\s+(?:likely|probable|probably)\b/gi
/** The end of a paragraph, or of a line, that leads on to the next one. */
const leadsOverParagraph = new RegExp(
  `[:：,，]$|\\b(?:${leadingVerb}|not|or|and|than|except|but|although|though|because|eg|on|with|at|for|by|of|from)$`,
  'i',
)
const leadsOverLine = new RegExp(
  `[:：,]$|\\b(?:${leadingVerb}|state|report|submit|enter|mark|choose|pick|select|assume|suppose|as)$`,
  'i',
)

/** An announcement within a sentence. */
const splice =
  /\s(?:so|thus|hence|therefore)?\s*(?:it|(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|result))\s+is[\s:]*$|\s\W*(?:final\s+)?answer\W{0,3}[:：]\W*$/i

const clauseBreak =
  /[;:—–]\s(?!\s*["“'‘«])|,\s+(?:so|but|then|hence|thus|therefore|which|and|we|the|it)\b|\b(?:so|therefore|thus|hence|then|but|because|since|however|instead|consequently)\b|[⇒→]|=>/giu
const sentenceEnd = /[.!?][)"”’]{0,2}(?=\s)|[。！？]|\|[ \t]*\n|\n\s*\n/g
const dressing =
  /(?:[\s*_`"'“”‘’«»({[$]|\\[([]|\\\$|\\(?:boxed|fbox|text|textbf|mathbf|mathrm|displaystyle|left|big|Big|Large|large|huge)\b|\\[,;:! ]|#)+$/u

/**
 * What the text before an answer says of it. null: nothing against it. Reads the last 400 characters.
 * `announced`: the words that announce the answer after that text.
 */
export function leadIn(before: string, announced = ''): Objection | null {
  const whole = unwrapped(narrow(legible(before.slice(-400)))).replace(/\be\.\s?g\./gi, 'eg')
  const near = /most/i.test(whole) ? whole.replace(mostLikely, '') : whole
  const lead = undressedEnd(near)
  const gap = near.slice(lead.length)
  // A sentence that has ended says nothing of the next one, nor does a table, or a paragraph that does not lead on.
  const isApart = /\|$/.test(lead) || (/\n[ \t]*\n/.test(gap) && !leadsOverParagraph.test(lead))
  const isEnded = lead === '' || isApart || /(?:^|[^.])[.!?]$|[。！？]$/.test(lead)
  if (isEnded && announced === '') return null
  const sentence = isEnded ? '' : lead.slice(lastEnd(lead, sentenceEnd))
  if (labelled.test(sentence) || addressing.test(sentence)) return 'denied'
  if (
    inverted.test(sentence.slice(sentence.lastIndexOf(', but ') + 1)) ||
    (announced !== '' && counterfactual.test(`${sentence} ${announced}`))
  )
    return 'conditional'
  if (announced !== '' && !isOwnAnswer(gap.includes('\n') ? '' : sentence, announced)) return 'denied'
  const words = sentence.slice(-100)
  if (disguised.test(words)) return 'denied'
  if (words !== '') for (const [objection, pattern] of leads) if (pattern.test(words)) return objection
  if (isSecond(words)) return 'several_answers'
  // "I do not believe that so it is ..."
  const spliced = splice.exec(words)
  if (spliced !== null && leads[0]?.[1].test(words.slice(0, spliced.index))) return 'denied'
  // A line of its own begins a new clause, unless the line before leads on to it.
  if (gap.includes('\n') && !leadsOverLine.test(sentence)) return null
  const clause = clauseOf(sentence, gap, announced)
  for (const [objection, pattern] of governing) if (pattern.test(clause)) return objection
  return null
}

const clauseOf = (sentence: string, gap: string, announced: string): string =>
  `${sentence.slice(lastEnd(sentence.replace(/[:：]$/, ' '), clauseBreak))}${gap === '' ? '' : ' '}${announced}`

/** The clause that leads to an answer, with the words that announce it. */
export function leadingClause(before: string, announced: string): string {
  const shown = before.slice(-400).replace(/~~[^~\n]{1,200}~~/g, ' ')
  const near = unwrapped(narrow(shown))
  const lead = undressedEnd(near)
  const sentence = leadingSentence(shown)
  // What gives a reason says nothing of what follows from it.
  const isReason = announced === '' && /\b(?:so|thus|hence|therefore|consequently)\W*$/i.test(sentence)
  const clause = isReason || /[;—–]$/.test(sentence) ? '' : sentence
  return clauseOf(clause, near.slice(lead.length), announced).trim()
}

/** A text without the marks at its end. They are few: a longer run of them stays in part. */
const undressedEnd = (text: string): string =>
  `${text.slice(0, -longestDressing)}${text.slice(-longestDressing).replace(dressing, '')}`
const longestDressing = 60

/** The unfinished sentence that leads to a mark; empty if a sentence, a table or a block of code ends before it. */
export function leadingSentence(before: string): string {
  const near = unwrapped(narrow(before.slice(-400)))
  const lead = undressedEnd(near)
  const gap = near.slice(lead.length)
  if (lead.endsWith('|') && !gap.includes('\n')) return lead.slice(lead.lastIndexOf('\n') + 1)
  if (lead === '' || gap.includes('```') || /[.!?。！？|}>]$/.test(lead)) return ''
  const line = lead.slice(lead.lastIndexOf('\n') + 1)
  if (
    /\n[ \t]*\n/.test(gap) &&
    !leadsOverParagraph.test(lead) &&
    (line.length > 60 || /^\s*(?:[#*_>|-]|\d+[.)])/.test(line))
  )
    return ''
  if (/^[\s>]*(?:```|####)/.test(line)) return ''
  // A line with numbers of its own is finished without a full stop.
  if (gap.includes('\n') && /\d/.test(line) && !leadsOverLine.test(line)) return ''
  return line.slice(lastEnd(line, sentenceEnd))
}

/** A text without the commands that set words in a formula, and without the marks of quoted lines. */
function unwrapped(text: string): string {
  const plain = text.includes('\\')
    ? text.replace(/\\(?:text|mathrm|textbf|mathbf|textit)\s?\{([^{}]{0,200})\}/g, '$1')
    : text
  return plain.includes('\n>') ? plain.replace(/\n>+ ?/g, '\n') : plain
}

function lastEnd(text: string, ends: RegExp): number {
  let end = 0
  for (const found of text.matchAll(ends))
    if (found.index + found[0].length < text.length) end = found.index + found[0].length
  return end
}

/**
 * Anywhere in a place that holds nothing but an answer, these words take it back or weaken it. A modal verb
 * weakens only what it stands next to: not "the points that could be in it".
 */
const weakening = new RegExp(
  `(?<![\\p{L}])(?:${negation}|${falsity}|(?!could|might)${doubt}|unequal|distractor|decoy|nobody|no\\s+one|nothing|none|ruled?\\s+out|disprove[dn]?|refute[ds]?|prove|show\\s+that|coin\\s+(?:flip|toss)|who\\s+knows|to\\s+be\\s+(?:confirmed|checked|verified|determined|decided)|tb[dc]|kidding|joking|unverified|unconfirmed|either|unless|if|whether|except|excluding|besides|rather|instead|not|different|differs|other\\s+than|opposite|anything\\s+but|all\\s+but|example|placeholder|made[ -]up|fake|dummy|sample)(?![\\p{L}])|[❌✗✘✖🚫⛔👎🤷]`,
  'iu',
)
/** A word that mixes scripts, or hides a character in it, is disguised. */
const disguised =
  /[A-Za-z]\p{Cf}+[A-Za-z]|[A-Za-z][\u0370-\u03ff\u0400-\u04ff]|[\u0370-\u03ff\u0400-\u04ff][A-Za-z]/u

/** What the words in a mark, a box or a tag before its answer say of it. */
export const leadWithin = (lead: string): Objection | null =>
  weakening.test(lead.replace(mostLikely, '')) || disguised.test(lead) ? 'denied' : null

/** Whether words are disguised with letters of other scripts. */
export const isDisguised = (text: string): boolean => disguised.test(text)

/** A part of a word that a sentence which disowns what follows has. */
const aloof =
  /next|ollow|elow|neath|gnore|regard|[Ss]kip|[Ff]ill|[Pp]utting|[Ww]riting|ummy|[Ff]ake|holder|[Mm]ade|ecoy|[Dd]on['’]t|[Dd]o not/
const ahead = /\b(?:next|following|below|underneath|(?:what|all\s+that)\s+follows)\b/i
const disowning =
  /\b(?:wrong|incorrect|false|untrue|not\s+(?:\w+\s+){0,3}?(?:true|right|correct|meant|answer)|not\s+(?:\w+\s+){0,6}?my\s+answer|none\s+of|decoy|joke|fake|made[ -]up|invented|nonsense|placeholder|dummy|(?:only|just|merely)\s+an?\s+(?:example|illustration|sample))\b/i
const passing =
  /(?:^|[.!?\n])\W*(?:(?:please|just)\s+)?(?:(?:ignore|disregard|skip|(?:do\s+not|don['’]t)\s+(?:read|count|take|use|trust))\s+(?:the\s+|this\b|that\b|it\b)?\s*(?:next|following|number|line|text|box)?\s*(?:line|number|answer|text|sentence|mark|box|part)?\s*(?:below|that\s+follows)?|(?:fill|filling|putting|writing)\s+(?:in\s+)?(?:something|anything|a\s+number)\b[^.!?]{0,60}|(?:a\s+)?(?:dummy|fake|placeholder|filler|made[ -]up|decoy)\s+(?:value|number|answer|line|text|mark|box)\b[^.!?]{0,60})[\s.:!]*$/i

/** Words of a sentence about the text that comes next. */
const ofNext =
  /\b(?:next|following)\s+(?:\w+\s+)?(?:line|number|answer|value|result|text|statement|sentence|box|mark|entry|figure|claim|output)s?\b|\bwhat\s+follows\b|\b(?:line|number|answer|value|result|text|statement|sentence|box|mark|entry|figure|claim|output)\s+below\b/i
/** Whoever says so has no answer, whatever comes next. */
const unable =
  /\bI\s+(?:(?:really|simply|just|still|honestly)\s+)?(?:(?:can(?:not|['’]t|\snot)|could(?:n['’]t|\s+not)|am\s+(?:unable|not\s+able)\s+to|was\s+(?:unable|not\s+able)\s+to|did(?:n['’]t|\s+not)|have(?:n['’]t|\s+not))\s+(?:\w+\s+)?(?:solved?|answer|compute|tell|determined?|figured?|finish(?:ed)?|work(?:ed)?\s+(?:it|this)\s+out|know|decided?|manage)|give\s+up|gave\s+up|refuse\b|have\s+no\s+(?:idea|clue)|do(?:n['’]t|\s+not)\s+(?:really\s+)?know(?:\s+(?:the\s+(?:right\s+|correct\s+)?(?:answer|solution)|how|this|it|what|which|whether)\b|\s*[.,;:!—]|\s*$))|\b(?:no\s+idea|(?:random|arbitrary)\s+(?:number|value|letter|guess|pick|choice|answer|option)|at\s+random|roll(?:ing|ed)?\s+(?:a\s+)?dice?\b|roll(?:ing|ed)?\s+a\s+die|shot\s+in\s+the\s+dark|(?:pure|wild|blind|lucky)\s+guess|opposite\s+day|not\s+(?:at\s+all\s+)?(?:confident|convinced)|not\s+enough\s+(?:information|data)|truths?\s+and\s+a\s+lie|(?:is|be|was)\s+(?:all\s+)?(?:a\s+lie|lies|fiction|made\s+up|invented|a\s+joke|satire|sarcasm)\s*[.!:])|(?:^|[\s,])(?:(?:ich\s+)?weiß\s+(?:es\s+|das\s+)?nicht|ich\s+rate|geraten|keine\s+ahnung|je\s+ne\s+sais\s+pas|au\s+hasard|no\s+lo\s+sé|no\s+sé|adivin\w+|al\s+azar|não\s+sei|non\s+lo\s+so|a\s+caso|не\s+знаю|наугад)(?![\p{L}])|不知道|随便猜|瞎猜|乱猜|わかりません|分かりません|모르겠/iu

/** Whether the two sentences before a place say that their author has no answer. */
export function isUnable(before: string): boolean {
  const near = narrow(before.slice(-200))
  if (
    !/[^\0-\x7f]|\b(?:rate|geraten|hasard|azar|caso|pas|keine)\b|[Ii]dea|andom|\bI\b|[Rr]oll|dark|guess|opposite|lie|not|fiction|joke|made|invented|sarc|satire/.test(
      near,
    )
  )
    return false
  const sentences = near.replace(dressing, '').split(/(?<=[.!?])\s+|\n/)
  return sentences.slice(-2).some((sentence) => unable.test(sentence))
}

/** Whether the sentence right before a place disowns what comes next: `The next line is wrong on purpose.` */
export function disownsNext(before: string, question: string): boolean {
  const near = before.slice(-240)
  if (!aloof.test(near)) return false
  const body = near.replace(/[\s*_>#$.!:]{1,40}$/, '')
  const sentence = body.slice(body.search(/[^.!?\n]*$/))
  if (ofNext.test(sentence) && hasForeignWords(sentence, question, 0)) return true
  if (/\b(?:which|statements?|options?|choices?)\b|\?/i.test(sentence)) return false
  return (ahead.test(sentence) && disowning.test(sentence)) || passing.test(sentence)
}

/** Whether the first line of a response disowns all that follows: `The following is wrong:`. */
export function isDisowned(text: string): boolean {
  const line = text.slice(0, 200).trimStart().split('\n', 1)[0] ?? ''
  if (!/[:：]\s*$/.test(line)) return false
  return (
    governing.some(([, pattern]) => pattern !== aside && pattern.test(line)) ||
    /\b(?:following|below|this|example|sample)\b.*\b(?:wrong|incorrect|false|made[ -]up|not\s+(?:right|correct|true)|mistake|invented|fake)\b/i.test(
      line,
    ) ||
    /\b[Nn](?:ot|ever)\s+(?:the\s+)?(?:right|correct|true|believe)\b/.test(line)
  )
}
