/** Whom or what a question asks about where it names several: `How many stickers does Mia have?` beside Leo, `the largest`. */

const name = /(?<![\p{L}\p{N}'’-])\p{Lu}\p{Ll}{1,15}(?!\p{L})/gu
/** Words with a capital at the start of a sentence that name nobody. */
const noName =
  /^(?:The|An|If|How|What|Which|Who|When|Where|Why|In|On|At|For|Each|Every|She|He|It|They|We|You|There|After|Before|Then|Since|Some|All|Both|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|One|And|But|So|His|Her|Their|Its|Your|My|Our|This|That|These|Those|From|To|With|Find|Give|Write|Round|Assume|Suppose|Let|Is|Are|Do|Does|Did|Was|Were|Has|Have|Had|By|As|Of|Or|No|Not|Think|Answer|Step|Please|Now|Today|Yesterday|Wie|Der|Die|Das|Ein|Eine|In|El|La|Los|Las|Un|Una|Le|Les|Une|Combien|Cuántos?|Cuántas?|Il|Elle)$/
const rank =
  /(?<!\p{L})(?:larg|small|great|bigg|long|short|tall|old|young|high|low|cheap|fast|slow|heavi|light)est(?!\p{L})|(?<!\p{L})(?:middle|other|others)(?!\p{L})/giu

interface Subjects {
  readonly question: string
  readonly own: ReadonlySet<string>
  readonly rivals: ReadonlySet<string>
}

/** Answers to one question come together. */
let latest: Subjects | undefined
const longestQuestion = 2000

function subjectsOf(question: string): Subjects {
  if (latest?.question === question) return latest
  const text = question.slice(-longestQuestion)
  const topic = /[^.!?\n]*\?(?![\s\S]*\?)/.exec(text)?.[0] ?? ''
  const names = (of: string): string[] => (of.match(name) ?? []).filter((word) => !noName.test(word))
  const ranks = (of: string): string[] => (of.match(rank) ?? []).map((word) => word.toLowerCase())
  const own = new Set([...names(topic), ...ranks(topic)])
  const isRanked = ranks(topic).length === 1
  const rivals = own.size === 0 ? [] : names(text).filter((word) => !own.has(word))
  latest = { question, own, rivals: new Set(isRanked ? [...rivals, rankedElse] : rivals) }
  return latest
}

/** Stands for any other rank than the one that is asked for. */
const rankedElse = '*'

function keysIn(
  clause: string,
  { own, rivals }: Subjects,
): { readonly isOwn: boolean; readonly isRival: boolean } {
  const words = [
    ...(clause.match(name) ?? []),
    ...(clause.match(rank) ?? []).map((word) => word.toLowerCase()),
  ]
  const isOwn = words.some((word) => own.has(word))
  const isElse = rivals.has(rankedElse) && (clause.match(rank) ?? []).length > 0
  return { isOwn, isRival: !isOwn && (isElse || words.some((word) => rivals.has(word))) }
}

/** Whether a text is about somebody or something else than the question asks about. */
export function isOfRival(text: string, question: string): boolean {
  if (question === '') return false
  const subjects = subjectsOf(question)
  return subjects.rivals.size > 0 && keysIn(text, subjects).isRival
}

/** Whether a text names whom or what the question asks about. */
export const isOfSubject = (text: string, question: string): boolean =>
  question !== '' && keysIn(text, subjectsOf(question)).isOwn

/** A sentence that says what somebody has. */
const possession =
  /^\W*(?:(?:So|Thus|Hence|Therefore|Then)\W+)?\p{Lu}\p{Ll}+(?:\s+(?:has|had|have|gets?|got|is|was|needs?|earns?|pays?)\s|\s?[=:]\s)/u
const pronoun = /(?<!\p{L})(?:she|he|they|it|her|him|them)(?!\p{L})/iu

/** Whether a sentence says what somebody else has than the question asks about. */
export const saysRival = (sentence: string, question: string): boolean =>
  possession.test(sentence) && !pronoun.test(sentence) && isOfRival(sentence, question)

const separator = /[,;|]\s+|\s(?=(?:and|while|whereas|but|und|et|y|e)\s)/giu

/**
 * A text without the clauses at its end that give a number of somebody else: `Mia has 36 stickers and Leo has 12`.
 * `isOwn`: what stands before the text is about the subject. Linear.
 */
export function withoutRivals(text: string, question: string, isOwn: boolean): string {
  if (question === '' || !/\d/.test(text)) return text
  const subjects = subjectsOf(question)
  if (subjects.rivals.size === 0) return text
  const [line = ''] = text.slice(0, 600).split('\n', 1)
  const cuts = Array.from(line.matchAll(separator), ({ index }) => index)
  for (const cut of cuts) {
    const [before, after] = [line.slice(0, cut), line.slice(cut)]
    const [next = ''] = after.slice(1).split(/[,;|]\s|[.!?](?=\s|$)/, 1)
    const isTold = isOwn || (keysIn(before, subjects).isOwn && /\d/.test(before))
    if (isTold && /\d/.test(next) && keysIn(next, subjects).isRival && !/\b(?:or|not)\b/i.test(next)) {
      const rest = after.slice(1 + next.length)
      const others = rest.split(/[,;|]\s|\s(?:and|while)\s/)
      if (others.every((other) => !keysIn(other, subjects).isOwn)) {
        const end = rest.search(/[.!?](?=\s|$)/)
        return before + (end < 0 ? '' : rest.slice(end)) + text.slice(line.length)
      }
    }
  }
  return text
}
