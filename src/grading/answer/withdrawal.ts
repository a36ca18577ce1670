import { styledLetters } from './legible.ts'
import { isDisclaimer } from './remarks.ts'
import { type Another, apostrophe, falsity, isOffer, narrow } from './wording.ts'

/** Sentences after an answer are read one by one: at most this many from each end. */
const mostSentences = 1000
const longestSentence = 400

const start = `^[\\s*_>#"'“”(\\-–—.…¹²³†‡\\d\\]]{0,12}(?:(?:user|human|assistant|system|teacher|tutor|student|judge|grader|reviewer|critic|q|a|me)\\s*:\\s*)?(?:(?:but|and|so|well|ok|okay|oh|ah|um|uh|hm+|however|also|or|actually|sorry|p\\.?s\\.?|note|edit|update)[\\s,:.!]+){0,3}`
const answerWord = `(?:answer|entry|submission|value|number|result|option|choice|letter|solution|total|box)`
const referent = `(?:everything(?:\\s+above)?|all\\s+of\\s+(?:this|that)|(?:the|my|our|this|that)\\s+(?:(?:above|previous|final|last|boxed|given|stated)\\s+){0,2}${answerWord}(?:\\s+(?:above|that\\s+I\\s+gave|I\\s+gave))?|the\\s+(?:(?:statement|claim|conclusion|line)\\s+)?above|the\\s+(?:above|previous)\\s+(?:statement|claim|conclusion|line)|the\\s+(?:quotation|quote|statement|reply|response|box|line)(?:\\s+above)?|this|that|it)`
const be = `(?:\\s+(?:is|was|are|were|would\\s+be|must\\s+be|has\\s+to\\s+be|seems|looks)|${apostrophe}s)`
const isNot = `(?:${be}(?:\\s+\\w+ly)?\\s+not|\\s+(?:is|was|are|were)n${apostrophe}t|\\s+ain${apostrophe}t|\\s+(?:can(?:not|${apostrophe}t)|could(?:n${apostrophe}t|\\s+not)|must\\s+not|do(?:es)?(?:n${apostrophe}t|\\s+not))(?:\\s+(?:\\w+ly|possibly))?\\s+(?:be|seem|look|sound))`
const adverbs = `(?:\\s+(?:\\w+ly|so|all|just|still|also|quite|very|a|the|in\\s+fact)){0,3}`
const right = `(?:right|correct|true|accurate|so|(?:the|my|a)\\s+(?:right|correct|final|real|actual|true|valid)?\\s*${answerWord})`

const fails = `(?:fails?(?!\\s+to\\s)|failed|(?:do|does|did)(?:n${apostrophe}t|\\s+not)\\s+(?:match|work|hold|fit|add\\s+up|check\\s+out|agree|balance|come\\s+out|satisfy)|(?:is|are)\\s+(?:off|not\\s+satisfied|violated)\\b|violates|contradiction|impossible|different\\s+(?:total|result|value|number|answer)|went\\s+wrong)`
/** A sentence about a check, or whose sentence before is about one. */
const check =
  /\b(?:check|checks|checking|verif(?:y|ying|ication)|test|testing|proof|plug(?:ging)?|substitut\w+)\b/i
const failed = new RegExp(
  `^(?!.*\\b(?:would|if|were|other|others|option|no\\s+contradiction|not\\s+contradict)\\b)[^?]*?(?<![\\p{L}])${fails}(?![\\p{L}])`,
  'iu',
)
/** The verdict on a total needs no word of a check. */
const unbalanced = new RegExp(
  `${start}(?:hm+[\\s,.!]+)?(?:the|these|those|our|my)\\s+(?:sum|sums|total|totals|numbers|figures)\\s+(?:(?:is|are)\\s+(?:off|wrong)|(?:do|does|did)(?:n${apostrophe}t|\\s+not)\\s+(?:add\\s+up|match))\\b`,
  'i',
)

/** Another answer, of any kind, that is put beside the first. Names start with a capital letter. */
const beside =
  /^[\s*_>"'(]*(?:Or|[Oo]n\s+second\s+thoughts?,)\s+(?!I\b)(?:\p{Lu}|\d)|\b(?:could|might|may)\s+(?:also|equally|just\s+as\s+well|as\s+well)\s+be\s+(?:\p{Lu}|\d)|\b(?:one|you|we)\s+(?:may|might|could|can)\s+(?:\w+\s+)?(?:answer|say)\s+(?:\p{Lu}|\d)|^[\s*_>"'(]*(?:[Tt]hough|[Aa]lthough|[Bb]ut|[Yy]et|[Ss]till|[Hh]owever)\b.{0,60}\b(?:is|would\s+be|seems)\s+(?:(?:the\s+)?more\s+(?:accurate|precise|correct|likely)|better)\b|^[\s*_>"'(]*(?:[Tt]hough|[Aa]lthough|[Bb]ut)\s+strictly\s+speaking\b/u

/** Sentences that take an answer back by themselves. */
const withdrawing = [
  beside,
  unbalanced,
  new RegExp(
    `${start}(?:please\\s+|kindly\\s+)*(?:(?:do\\s+not|don${apostrophe}t|never)\\s+(?:use|trust|take|accept|count|read|submit|grade|consider|rely\\s+on)|ignore|disregard|discard)\\s+(?:${referent}|anything|any\\s+of)(?![\\p{L}])`,
    'iu',
  ),
  new RegExp(
    `${start}(?:${referent}\\s+)?(?:(?:is|was|must|should|would|can|could|shall)\\s+(?:not|never)|cannot)\\s+(?:be\\s+)?(?:taken|used|trusted|read|counted|written|graded|accepted|submitted|considered|relied|(?:my|the)\\s+${answerWord})(?![\\p{L}])`,
    'iu',
  ),
  new RegExp(
    `\\bI\\s+(?:(?:have|had|did|could|was|can)\\s+(?:not|never)|never|(?:couldn|haven|didn|can)${apostrophe}t|cannot)\\s+(?:\\w+ly\\s+)?(?:able\\s+to\\s+)?(?:comput|calculat|solv)`,
    'i',
  ),
  new RegExp(
    `\\bany\\s+other\\s+${answerWord}\\s+(?:would|will|could|may|is)\\s+(?:do|also|work|serve|(?:be\\s+)?(?:just\\s+)?(?:as|equally|fine|acceptable))\\b|^[\\s,]*or\\s+any\\b|\\bchange\\s+my\\s+${answerWord}\\b|\\bcorrect"?\\s*:\\s*"?(?:false|no)\\b|${start}(?:is|was)\\s+what\\s+(?:they|you|people)\\b|\\bI(?:\\s+now)?\\s+(?:get|got|find)\\s[^.!?]{1,60}\\sinstead\\b`,
    'i',
  ),
  /^[^.!?]{0,40}?\b(?:(?:but|however)\b[^.!?]{0,30}?\b(?:need|needs|have|has|must|should)|still\s+(?:need|needs|have|has|must|should))\s+(?:still\s+)?(?:to\s+)?(?:subtract|add|multiply|double|halve|divide|remove|take\s+away|deduct|include)\b/i,
  new RegExp(
    `${start}(?:wait[\\s,.…!—–-]+(?:that|it)${apostrophe}s\\s+(?!(?:right|correct|fine|it|what|also|true)\\b)|actually\\s*:|final\\s+final\\s+answer)`,
    'i',
  ),
  new RegExp(
    `^\\W*(?:(?:he|she|they|(?:the|my|this|that|our|his|her)\\s+(?:student|pupil|friend|teacher|book|classmate|author))\\s+(?:is|are|was|were)\\s+(?:\\w+ly\\s+)?(?:wrong|mistaken|incorrect)|(?:it|this|that)\\s+(?:is|was)\\s*(?:not|n${apostrophe}t)\\W*$|(?:wait|hold\\s+on|hmm+|actually)\\W+no(?:\\W|$)|(?:none|not\\s+one|neither)\\s+of\\s+(?:the|these|those|my)\\s+(?:numbers|values|answers|results)\\b|(?:one|some|none|either|any)\\s+of\\s+(?:them|these|those|the\\s+above)\\b.{0,20}?\\b(?:right|correct|true|answer))`,
    'i',
  ),
  /\b(?:answer\s+(?:that\s+)?I\s+(?:stand\s+by|submit|prefer|mean)|what\s+I\s+submit|not\s+the\s+one\s+above|fooled\s+you|back\s+to\s+square\s+one|do(?:es)?\s*(?:not|n['’]t)\s+(?:balance|add\s+up|check\s+out)|klopt\s+niet|(?:reverse|opposite)\s+of\s+(?:the\s+)?(?:truth|what))\b|правильный\s+ответ|неправильн|^\W*(?:ctrl\s*\+\s*z|undo|scrap|erase|do\s+not\s+submit|grade\s*:\s*[DF])(?:\s+(?:that|this|it))?\W*$/i,
  new RegExp(
    `${start}(?:no|nope|nah)(?:\\s*[,.:!;—–-]|\\s*$|\\s+(?:it|this|that|wait|sorry|the\\s+answer)\\b)`,
    'i',
  ),
  new RegExp(
    `${start}(?:or\\s+rather\\b|(?:better\\s*:|(?:rather|sorry|update|revised(?:\\s+${answerWord})?)\\s*[,:])(?=\\s*[^\\s])(?!\\s*(?:the|for|if|but|I|we)\\b)|just\\s+kidding|kidding|psych|jk|gotcha|april\\s+fool|never\\s*mind|(?:strike|scratch)\\s+(?:that|it|this)|(?:please\\s+)?(?:disregard|ignore|forget|discard)\\s+(?:that|this|it|all|everything|the|my|what)|corrections?\\b|errat|typo\\b|oops|whoops|my\\s+bad|my\\s+mistake|wrong|incorrect|false|untrue|nonsense|rubbish|lol\\b|not\\s+(?:really|exactly|quite|at\\s+all|correct|right|true)\\b|(?:on|upon)\\s+reflection|come\\s+to\\s+think|halt\\b|withdrawn\\b|not\\s*[!.]|should\\s+the\\s+grader|make\\s+(?:that|it)\\b|(?:as\\s+it\\s+)?turns\\s+out|it\\s+turns\\s+out|let\\s+me\\s+(?:correct|amend|revise|change|fix|take|rephrase\\s+my\\s+answer)|(?:corrected|amended|revised)\\b|scratch\\b)`,
    'i',
  ),
  new RegExp(
    `\\bI(?:\\s+(?:hereby|must|have\\s+to|want\\s+to|would\\s+like\\s+to|do|really|honestly|actually|also|just|only|now|in\\s+fact)){0,3}\\s*(?:${apostrophe}m|am|was|(?:may|might|could)\\s+(?:well\\s+)?be)?\\s*(?:(?:really|honestly|just|only|now|still|probably|likely|quite|possibly|perhaps|almost|certainly|surely)\\s+){0,2}(?:rescind|retract|withdraw|recant|revoke|renounce|deny|disown|doubt\\s+(?:it|that|this)|lied|lying|joking|kidding|guessing|guessed|undecided|torn|unsure|uncertain|mistaken|take\\s+(?:that|it|this|everything)\\s+back|changed?\\s+my\\s+(?:mind|answer)|stand\\s+corrected|made\\s+(?:that|it|this)\\s+up|invented|made\\s+(?:a\\s+(?:mistake|slip)|an\\s+error)(?!\\s+(?:earlier|before|above|at\\s+first|in))|have\\s+no\\s+idea|do\\s+not\\s+(?:know|believe)|don${apostrophe}t\\s+(?:know|believe)|wrong(?!\\s+(?:in|on|at|about|earlier|before))|not\\s+(?:\\w+\\s+)?(?:sure|certain|confident)|mis(?:copied|typed|clicked|calculated|counted|read|spoke|added|stated)|meant|mean\\s+to\\s+say)\\b`,
    'i',
  ),
  new RegExp(
    `^[^.!?]{0,80}?\\b${referent}(?:\\s+(?:also|still|now|really|just))?(?:${isNot}${adverbs}\\s+${right}|${be}${adverbs}\\s+(?:${falsity}(?!\\s+to\\b)|void|(?:a|an)\\s+(?:\\w+\\s+)?(?:mistake|lie|guess|joke|trap|error|typo|misprint)))(?![\\p{L}])`,
    'iu',
  ),
  new RegExp(
    `\\b(?:it|that|this|${answerWord})\\s+(?:should|must|ought\\s+to|was\\s+meant\\s+to|was\\s+supposed\\s+to)\\s+(?:have\\s+(?:been|read|said)|(?:instead\\s+)?read|say|rather\\s+be|instead\\s+be)\\b`,
    'i',
  ),
  new RegExp(
    `^[^.!?]{0,60}?\\b(?:the|my)\\s+(?:real|actual|true|right|correct|better|intended)\\s+${answerWord}\\s+(?:is|was|should|must|would|seems)(?!\\s+(?:therefore|thus|indeed|also|again|above))`,
    'i',
  ),
  new RegExp(
    `${start}(?:(?:now|then|finally|lastly|please)[\\s,]+)?(?:subtract|add|multiply|double(?!-|\\s+check)|halve|triple|flip|negate|divide|reverse|invert|swap|square(?!\\s+(?:units?|(?:centi|milli|kilo)?met(?:re|er)s?|feet|foot|inch(?:es)?|miles?|yards?|[ckm]?m)\\b))\\b`,
    'i',
  ),
  new RegExp(
    `\\b(?:50\\s*[/-]\\s*50|fifty-fifty|can(?:not|${apostrophe}t)\\s+(?:tell|decide|say)\\s+which|(?:just\\s+as|equally)\\s+(?:good|acceptable|likely|plausible|valid|well|right|correct)|if\\s+(?:that|this|it)\\s+(?:is|was|gets)\\s+(?:marked\\s+|graded\\s+|judged\\s+)?(?:wrong|incorrect|false|rejected)|(?:count|accept|take|use|read)\\s[^.!?]{1,30}\\sinstead|both\\s+(?:are|is|would)\\s|has\\s+it\\s+wrong|misclick|mine\\s+is|someone\\s+(?:smarter|else|better)\\s+would|careless\\s+person|statement\\s+I\\s+marked)\\b`,
    'i',
  ),
  /^\W*(?:is|are|was|were)\s+(?:not|wrong|false|incorrect)\b/i,
  /^\W*unverified\b|\bnothing\s+(?:here\s+)?(?:is\s+|was\s+)?(?:submitted|claimed|concluded|answered)\b|\bran\s+out\s+of\s+(?:time|space|tokens)\b|\b(?:make|makes|made)\s+no\s+claim\b|\bI\s+decline\s+to\b|\bno\s+(?:figure|number|answer|word)\s+of\s+mine\b/i,
  /^\W*(?:but\s+)?I\s+(?:won['’]t|will\s+not|do\s+not|don['’]t|refuse(?:\s+to)?|decline(?:\s+to)?)(?:\s+(?:say|claim|answer|do|commit)(?:\s+(?:to\s+)?(?:that|so|it|this))?)?\W*$/i,
  /^\W*(?!(?:Nothing|Which|What|Who|Everyone|Everything)\b)[A-Z][a-z]{2,11}\s+(?:is|was)\s+(?:\w+ly\s+)?(?:wrong|mistaken|incorrect)\b/u,
  /^\W*(?:or\s+)?(?:maybe|perhaps|possibly)\s+not\b|\bI\s+(?:strongly\s+|would\s+|have\s+to\s+|must\s+)?(?:disagree|object|drop|discard|reject|abandon|take\s+back)\b|\b(?:it|this|that|which|result|number|answer|value)\s+(?:makes?\s+no|does\s*(?:not|n['’]t)\s+make(?:\s+any)?)\s+sense\b|\bdon['’]t\s+(?:quote|trust|hold)\s+me\b|\bgrain\s+of\s+salt\b|\b(?:misleads|is\s+misleading)\b|\bhas\s+(?:a|some)\s+(?:\w+\s+)?(?:flaw|bug|gap|hole|error|mistake)s?\b|\bis\s+flawed\b|\b(?:answers|solves|settles|belongs\s+to)\s+(?:another|a\s+different|the\s+wrong|some\s+other)\b|\bnot\s+(?:what|the\s+(?:quantity|number|value|thing)\s+(?:that\s+)?)(?:is|was|we|they|he|she|you|the\s+question)\b[^.!?]{0,20}\bask|\b(?:verification|check|test)\s+(?:has\s+)?failed\b|^\W*(?:this\s+\w+\s*:\s*)?no\s+(?:final\s+|real\s+|actual\s+)?(?:result|answer|solution)\b(?!\s+(?:but|other|besides|except))|\b(?<!\b(?:no|not|nothing|never)\b[^.!?]{0,30})contradicts\s+(?:the|what|our|my|this|that|it)\b|\b(?:this|that|it)\s+(?:is|was)\s+(?:only|just|merely)\s+(?:a|an|the|my)\s+(?:subtotal|intermediate|partial|first|guess|draft|estimate|placeholder|example|joke|test)\b|\bno\s+longer\s+(?:happy|sure|convinced|certain|confident|stand)|\bI(?:\s+am|['’]m)\s+not\s+(?:\w+\s+)?(?:happy|satisfied|convinced|comfortable)\b|\b(?:spoke|answered|wrote|concluded)\s+too\s+(?:soon|early|fast|quickly|hastily)\b|\bI\s+(?:\w+\s+){0,3}mixed\s+(?:up\b|the|those|these|them|it)|\bI\s+(?:added|multiplied|subtracted|divided|counted|computed|calculated|summed|read|copied)\s+(?:\w+\s+){0,3}(?:wrong|wrongly|incorrectly|badly|twice)\b(?!\s+(?:at\s+first|before|earlier))|\bgive\s+me\s+another\s+(?:chance|try)|\bsomething\s+(?:is|was|went|must\s+be|seems|looks)\s+(?:\w+\s+)?(?:off|wrong|amiss|fishy|odd|strange|broken)\b|\b(?:units|dimensions|signs)\s+(?:do\s+not|don['’]t)\s+(?:match|agree|fit|work)|\b(?:so|thus|hence|therefore)\s+(?:it|this|that)\s+(?:cannot|can['’]t|could\s+not)\s+be\s*(?:right|true|correct|so)?\W*$|\b(?:it|this|that|everything)\s+breaks(?:\s+down)?\W*$|\b(?:step|argument|reasoning|assumption|formula)\s+(?:\w+\s+){0,3}(?:not|n['’]t)\s+(?:justified|valid|allowed|sound|legitimate)\b|\b(?<!\b(?:would|not|no)\b[^.!?]{0,30})contradict\s+(?:this|that|it|me)\b|\bnow\s+it\s+is\b|🤷|\b[1-8]?\d\s*%\s*(?:sure|certain|confident)\b/iu,
  /^\W*(?:or\s+it\s+is\b|(?:or\s+)?(?:it|the\s+answer|this)\s+(?:could|might|may)\s+(?:also|equally|(?:just\s+)?as\s+well)\s+be\b|alternatively,?\s+(?:it|the\s+answer)\s+(?:is|may|might|could)\b)(?!\s+(?:be\s+)?(?:written|expressed|given|simplified|approximated|stated|seen|found))/i,
  /(?:^|[\s「“"，,])(?:不[，,。]|不对|不是这样|错了|更正|抱歉|其实|应该是|等等|いや|正しくは|訂正|実は|아니[,요]|정정|사실은|нет[,.]|извините|на\s+самом\s+деле|неверно)/i,
  new RegExp(
    `${start}(?:perd[oó]n|desculp|lo\\s+siento|pardon|désolé|entschuldigung|verzeihung|scusa|anzi|en\\s+fait|en\\s+realidad|na\\s+verdade|eigentlich|in\\s+wahrheit|nein|die\\s+richtige\\s+antwort|la\\s+(?:bonne|vraie)\\s+réponse|la\\s+respuesta\\s+(?:correcta|real)|falsch|falso|faux|non\\b|não\\s*[,.!]|no\\s+es\\b)`,
    'i',
  ),
  /\b(?:esta|esa|este|esto|eso|isso|isto|das|dies|diese|dieser|cette|ce|c['’]est|la|questa|questo|это|этот)[^.!?。]{0,40}?(?:falsch|incorrect[oae]?\b|fals[oa]\b|faux\b|fausse|erronée?|errónea|sbagliat[oa]|errad[oa]|mal\b|klopt\s+niet|yanlış|неправил|невер|nicht\s+(?:richtig|korrekt|wahr)|stimmt\s+nicht|n['’]est\s+pas)/i,
  /(?:这|这个|该|以上|上述|此|それは|これは|この)[^.!?。]{0,30}?(?:错|不正确|不对|間違|違い|誤り)/u,
]

const revocation =
  /^\W*(?:(?:actually|sorry|please)[\s,]+)?(?:withdrawn|retracted|revoked|disregard|ignore|scratch|strike)\b(?!\s+(?:option|choice|[A-Z]\b))/i
/** Whether a sentence takes back what stands before it, and speaks of no other choice. */
export const isRevocation = (sentence: string): boolean => revocation.test(sentence)

const ofTask = /problem|question|task|exerci|puzzle|information|data|ufgabe|rage|pregunta|ejercicio|задача|题/
const task = `(?:problem|question|task|exercise|puzzle)`
/** That there is no answer. It takes a number back; as the text of a choice it may be the answer. */
const unsolvable = new RegExp(
  `\\b(?:the|this|that|my|our)\\s+${task}\\s+(?:(?:as\\s+(?:stated|given|posed|written))\\s+)?(?:(?:is|was|remains|seems)\\s+(?:\\w+\\s+)?(?:un(?:solvable|answerable|decidable)|insoluble|ill[- ]posed|underdetermined|not\\s+(?:solvable|answerable|well[- ](?:posed|defined))|impossible)|(?:can(?:not|${apostrophe}t)|could\\s*(?:not|n${apostrophe}t))\\s+(?:\\w+\\s+)?be\\s+(?:solved|answered|decided)|(?:does\\s*(?:not|n${apostrophe}t)\\s+have|has\\s+no|lacks)\\s+(?:an?\\s+)?(?:\\w+\\s+)?(?:answer|solution|information|data))|(?:not\\s+enough|insufficient|too\\s+little)\\s+(?:information|data)\\s+to\\s+(?:answer|solve|tell|decide|determine)|(?<![\\p{L}])(?:aufgabe|frage)[^.!?]{0,30}\\s(?:unlösbar|nicht\\s+(?:eindeutig\\s+)?(?:lösbar|zu\\s+(?:lösen|beantworten)))|(?:problema|pregunta|ejercicio)[^.!?]{0,20}\\sno\\s+(?:tiene|admite|se\\s+puede)\\s|(?:problème|question|exercice)[^.!?]{0,20}\\s(?:est\\s+insoluble|n['’]a\\s+pas|ne\\s+peut)\\s|задача[^.!?]{0,20}не\\s+(?:имеет|решается)|(?:本题|此题|题目|问题)[^。！？]{0,8}(?:无解|无法)`,
  'iu',
)

/** Whether a text says of its problem that it has no answer. Linear. */
export const saysUnsolvable = (text: string): boolean => {
  const near = text.slice(0, 4000)
  return ofTask.test(near) && unsolvable.test(narrow(near))
}

/** Words that make of another value in the same sentence the answer, or one of the answers. */
const leaning =
  /\b(?:sorry|apolog\w*|meant|mean|correct(?:ed|ly|ion)?|(?<!\b(?:every|all|any|each|positive|negative|nonzero|unique)\s)real(?:ly)?|actual(?:ly)?|instead|rather|mistake|error|typo|update|read\s+(?:this|that|it)|oops|wait|hmm+|amend\w*|turns|make\s+(?:that|this)|(?<!\b(?:the|a|this|our|by|of|to|we|I)\s)count|accept|maybe|perhaps|possibly|alternativ\w*|on\s+second\s+thoughts?|expected:?(?=\s+\$?[\dA-Z])|chang(?:e|es|ed)\s+(?:it|this|that)\s+to|reconsider\w*|truth|versus|vs|equally|answer|probably|likely|final|it\s*['’]s|it\s+is|unless|choose|pick|say|switch|go\s+with|locking\s+in|settle\s+(?:on|for)|settling\s+(?:on|for))\b/i
/** Words that do so only near the value: prose is full of them. May is a month, too. */
const leaningNear =
  /\b(?:should|make\s+it|read|might|could|or|either(?!\s+way)|must|no|if|[Oo]r|[Nn]o|[Ii]f|may)\b[^.!?\n]{0,24}?(?<![\p{L}\p{N}])[-−$(*\\]*(?:\d|[A-Z]\b)/u

/**
 * Whether the sentences after an answer take it back: by words alone ("that is wrong"), or by giving another
 * one. Saying what the answer is not, or that a wrong one is wrong, takes nothing back. Linear in the text.
 */
export function isWithdrawn(following: string, another: Another): boolean {
  const sentences = plainWords(narrow(withoutOthers(following, another))).split(
    /(?<=[.!?。！？…])(?=\s|["'”’)*]|\p{Lo})|\n/u,
  )
  const read =
    sentences.length > 2 * mostSentences
      ? [...sentences.slice(0, mostSentences), ...sentences.slice(-mostSentences)]
      : sentences
  return (
    read.some((sentence, at) =>
      isTakenBack(sentence.slice(0, longestSentence), read[at - 1] ?? '', another),
    ) ||
    goesOn(read, another) ||
    corrects(read, another) ||
    endsElsewhere(read, another)
  )
}

/** Lines that rule out another option by its label: `C) It holds no air. This is wrong.` */
const ruledOut =
  /(?<=^|\n)[\s*_>-]{0,6}(?:[Oo]ption\s+)?\(?([A-Z])\)?(?:\*{0,2}[).:]|\s(?:is|does|fails|cannot|has)\b)[^\n]*\b(?:incorrect|wrong|false|not|doesn['’]t|isn['’]t|too|eliminated|excluded|distractor|fails?|irrelevant|unrelated)\b[^\n]*/g

const withoutOthers = (text: string, another: Another): string =>
  text.replace(ruledOut, (line, label: string) =>
    another(label) === 'other' &&
    !/\b(?:answer\s+is|I\s+(?:choose|pick|prefer)|correct\s+(?:answer|option|one))\b/i.test(line)
      ? ''
      : line,
  )

const nextStep =
  /^\W*(?:but|however|now|then|next|finally|after\s+that)\b[^?]{0,120}?\b(?:gives?|leaves?|leaving|obtain|yields?|remain|remains|left|get|makes)\b/i

const ofResults =
  /\b(?:I|my|mine|ours|final|actual|answer|result|attempt|version|copy|own|correct(?:ed)?|true|real|asked|instead|new|want|majority|stay|clean)\b/i
const stated =
  /(?:\b(?:is|are|was|be|at|get|gets|got|find|found|finds|gives?|gave|obtain|obtained|want|says?|with|to|make|makes|choose|prefer|have|want|answer|attempt|copy|one|version)|[:→])\s*[$*("'[\\]*$/i

/** Whether the last result that is stated after an answer is another one, and the answer does not follow. */
function endsElsewhere(sentences: readonly string[], another: Another): boolean {
  for (let at = sentences.length - 1; at >= 0; at--) {
    const sentence = (sentences[at] ?? '').slice(0, longestSentence)
    const found = Array.from(sentence.matchAll(values), ({ index, 0: value }) => ({
      index,
      value,
      is: another(sentence.slice(index, index + 60)),
    }))
    if (found.some(({ is }) => is === 'same')) return false
    const last = found.at(-1)
    if (last === undefined || last.is !== 'other') continue
    const before = sentence.slice(0, last.index)
    const after = sentence.slice(last.index + last.value.length)
    if (
      ofResults.test(before) &&
      stated.test(before) &&
      !/[=≈]|\b(?:not|if|than|step|part|mistake|error|wrong|incorrect|question|problem|exercise|example|line)\b|n['’]t\b/i.test(
        sentence,
      ) &&
      /^[%°)\]*"'$]*(?:\s+\p{L}+){0,2}\W*$/u.test(after)
    )
      return true
    return false
  }
  return false
}

const correcting = /^\W*(?:actually|wait|no|hmm+|oops|sorry|hold\s+on)\b[\s,.:!—–-]/i

/** Whether a sentence that corrects ends with another value, and the answer does not follow: `Actually 20 - 13 = 7.` */
function corrects(sentences: readonly string[], another: Another): boolean {
  const at = sentences.findLastIndex((sentence) => correcting.test(sentence.slice(0, 20)))
  const sentence = (sentences[at] ?? '').slice(0, longestSentence)
  const found = Array.from(sentence.matchAll(values), ({ index }) =>
    another(sentence.slice(index, index + 60)),
  )
  if (found.at(-1) !== 'other' || found.includes('same') || !/[=≈→]\s*\S+\W*$|\bso\s+\S+\W*$/.test(sentence))
    return false
  return !sentences
    .slice(at, at + 100)
    .some((one) =>
      Array.from(one.slice(0, longestSentence).matchAll(values)).some(
        ({ index }) => another(one.slice(index, index + 60)) === 'same',
      ),
    )
}

/** Whether a step after the answer leads to another value, and nothing after it back to the answer. */
function goesOn(sentences: readonly string[], another: Another): boolean {
  const at = sentences.findLastIndex((sentence) => nextStep.test(sentence.slice(0, longestSentence)))
  if (at < 0 || !assertsAnother((sentences[at] ?? '').slice(0, longestSentence), another)) return false
  return !sentences
    .slice(at, at + 100)
    .some((sentence) =>
      Array.from(sentence.slice(0, longestSentence).matchAll(values)).some(
        ({ index }) => another(sentence.slice(index, index + 60)) === 'same',
      ),
    )
}

/** A later answer with a label of its own: `New: 43`. */
const relabelled =
  /^\W*(?:new|now|revised|updated|current|present)\s*(?:answer|version|result|value|one)?\s*[:：]\s*[*$("']*(\S.{0,80})/i

function isTakenBack(sentence: string, before: string, another: Another): boolean {
  if (!/[\p{L}\d]/u.test(sentence)) return false
  // "Could it be otherwise? No."
  if (
    /^\W*no\W*$/i.test(sentence) &&
    /\b(?:otherwise|else|other|different|further|more|another)\b[^?]*\?\s*$/i.test(before)
  )
    return false
  const label = relabelled.exec(sentence)
  if (label !== null && another(label[1] ?? '') !== 'same') return true
  // What others get wrong, or why one might, takes nothing back.
  if (isOffer(sentence) || excusing.test(sentence)) return false
  if (isDisclaimer(sentence) || withdrawing.some((pattern) => pattern.test(sentence))) return true
  if (
    (check.test(sentence) || check.test(before)) &&
    failed.test(sentence) &&
    !namesAnother(sentence, another)
  )
    return true
  if (deniesSame(sentence, another) || (preferring.test(sentence) && prefersAnother(sentence, another)))
    return true
  return (
    (leaning.test(sentence) || leaningNear.test(sentence)) &&
    !/[=≈]|\bother\s+(?:options|choices|answers|values)\b/i.test(sentence) &&
    assertsAnother(sentence, another) &&
    !returns(sentence, another)
  )
}

/** Whether a sentence concedes something to another answer, and then comes back to the same one. */
function returns(sentence: string, another: Another): boolean {
  const turn = Array.from(sentence.matchAll(/\b(?:but|yet|however|still|whereas|though)\b/gi)).at(-1)
  if (turn === undefined) return false
  const found = Array.from(sentence.slice(turn.index).matchAll(values), ({ index }) =>
    another(sentence.slice(turn.index + index)),
  )
  return found.includes('same') && !found.includes('other')
}

/** Emphasis and characters that nobody sees change no word. */
function plainWords(text: string): string {
  const latin = text.includes('\ud835')
    ? text.replace(styledLetters, (letters) => letters.normalize('NFKC'))
    : text
  const plain = latin.includes('*') ? latin.replace(/(?<!\*)\*+(?=[A-Za-z])|(?<=[A-Za-z,.!])\*+/g, '') : latin
  return /\u034f|[\xad\u200b-\u200f\u2060-\u2064\ufeff]/.test(plain)
    ? plain.replace(/(?<=\p{L})(?:\u034f|\p{Cf})+(?=\p{L})/gu, '')
    : plain
}

const values =
  /(?<![\p{L}\p{N}.,^_$\\-]|\d\s(?=\d+\/\d))(?:[A-Z](?![\p{L}\p{N}'’])|[-−]?\\?\$?\.?\d[\d.,/]*)/gu

const namesAnother = (sentence: string, another: Another): boolean =>
  Array.from(sentence.matchAll(values)).some(({ index }) => another(sentence.slice(index)) === 'other')

/** Whether a sentence says of the same answer that it is not right: `It is not 42.` */
function deniesSame(sentence: string, another: Another): boolean {
  if (!/\b(?:not|never|cannot)\b|n['’]t\b/i.test(sentence)) return false
  return Array.from(sentence.matchAll(values)).some(
    ({ index }) =>
      another(sentence.slice(index)) === 'same' &&
      /\b(?:(?:is|are|was|be)\s+(?:\w+ly\s+)?(?:not|never)|isn['’]t|wasn['’]t|cannot\s+be|can['’]t\s+be)\s+(?:equal\s+to\s+|option\s+)?[("'*$]*$/i.test(
        sentence.slice(Math.max(0, index - 50), index),
      ),
  )
}

const preferring =
  /\b(?:better|superior|preferable|closer|more\s+(?:accurate|precise|correct|exact|likely|plausible))\b/i

/** Whether a sentence calls another answer the better one. */
function prefersAnother(sentence: string, another: Another): boolean {
  return Array.from(sentence.matchAll(values)).some(
    ({ index, 0: value }) =>
      another(sentence.slice(index)) === 'other' &&
      /^\W*(?:is|are|was|would\s+be|fits|seems|looks|sounds|works)?\s*(?:the\s+|a\s+|much\s+|even\s+)?(?:better|superior|preferable|closer|more\s+(?:accurate|precise|correct|exact|likely|plausible))\b/i.test(
        sentence.slice(index + value.length, index + value.length + 60),
      ),
  )
}

const excusing =
  /^\W*if\s+(?:it|this|that|the\s+(?:answer|value|number))\s+(?:were|was|had\s+been)\b|\b(?:(?:draft|attempt|version)\b.*\b(?:fixed|corrected|mended)|(?:common|typical|frequent|usual)\s+(?:mistake|error|trap)|would\s+(?:give|yield|lead)|(?:if|should)\s+(?:you|one|we)\s+(?:got|get|had|use|used|forget|forgot|skip|plug|try|tried|put|set|substitute|take|took|test)|(?:might|may)\s+(?:wonder|ask|think)\s+why)\b(?![^.]*\b(?:I|mine|my)\b)/i

/** Whether a sentence has another answer that it does not call wrong. */
function assertsAnother(sentence: string, another: Another): boolean {
  for (const { index, 0: value } of sentence.matchAll(values)) {
    if (another(sentence.slice(index)) !== 'other') continue
    const before = sentence.slice(Math.max(0, index - 30), index)
    const after = sentence.slice(index + value.length, index + value.length + 60)
    if (/^\s*%\s*(?:sure|certain|confident|positive)\b/i.test(after)) continue
    if (
      /\b(?:not|than|isn['’]t|wasn['’]t|never|neither|nor|step|question|problem|example|part|line|equation|figure|table)\s+(?:option\s+|just\s+)?[("'*$]*$/i.test(
        before,
      )
    )
      continue
    if (
      /^[^.,;]{0,25}?\b(?:is|are|was|were|would\s+be|does|do|did|fails?|has|cannot|can['’]t)\s*(?:\w+ly\s+)?(?:not\b|n['’]t|wrong|incorrect|false|too|eliminated|excluded|ruled|out)/i.test(
        after,
      ) ||
      /^[^.,;]{0,25}?\b(?:isn|aren|wasn|doesn|don|didn|fails|cannot)/i.test(after) ||
      /^[)*"'\s]*would\s+(?:be|have|need|require|mean|imply)\s+(?!(?:(?:the|a|an|more|also|just|equally|my|our)\s+)*(?:right|correct|true|better|best|acceptable|fine|valid|possible|good|answer|final)\b)/i.test(
        after,
      )
    )
      continue
    return true
  }
  return false
}
