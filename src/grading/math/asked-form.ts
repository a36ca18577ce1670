import { children, type Expression, namesIn, type Of } from './expression.ts'
import { readAnswer } from './read-answer.ts'

/**
 * What a question asks to do with an expression of its own. The expression as it stands is no answer then, though it
 * has the right value: `Factor $x^2-9$.`
 */
const demand =
  /(?:\b(factor(?:i[sz]e)?|expand|multiply\s+out|distribute|simplify|reduce|rationali[sz]e|convert|evaluate|compute|calculate|work\s+out|determine\s+the\s+value\s+of|find\s+the\s+(?:exact\s+)?(?:value|sum|product|difference|quotient)\s+of|what\s+is(?:\s+the\s+(?:exact\s+)?value\s+of)?|write|rewrite|express|find(?=\s*(?:\$|\\\()))(?![a-z])|(?<!\p{L})(вычислите|найдите|упростите|calcul(?:ez|er|a|e|ar)|simplifi(?:ez|er|ca|car|que)|berechnen?|vereinfachen?|calcola|semplifica|计算|計算|化简|求)(?!\p{L}))([^.?!\n$\\\d]{0,60})/giu
const formula =
  /^(?:\$\$?([^$\n]{1,300})\$|\\\(([^\n]{1,300}?)\\\)|\\\[([^\]]{1,300}?)\\\]|([-−(]?\d(?:[\d\s.,+\-−*/×·÷^()!%]{0,80}[\d)!%])?)(?![\d^\\]))/
/** `Write 8 as a power of 2`: a number that stands alone is asked for in another form. */
const otherForm = /^[^.?!\n]{0,80}?\b(?:as|in|to|into|using|without|with)\b/i
const mostDemands = 8

/** What a question demands. */
interface Demand {
  readonly verb: string
  readonly of: Expression
}

function demands(question: string): readonly Demand[] {
  const text = question.slice(0, 4000)
  return Array.from(text.matchAll(demand))
    .slice(0, mostDemands)
    .flatMap(({ index, 0: all, 1: english, 2: abroad = '' }) => {
      const verb = english ?? abroad
      const rest = text.slice(index + all.length)
      const found = formula.exec(rest)
      const written = found?.[1] ?? found?.[2] ?? found?.[3] ?? found?.[4]
      if (found === null || written === undefined) return []
      const isLoose = /^(?:write|rewrite|express|convert)$/i.test(verb)
      if (isLoose && !otherForm.test(rest.slice(found[0].length))) return []
      const of = readAnswer(written)
      if (of !== null && /^find$/i.test(verb) && namesIn(of).length > 0) return []
      return of === null ? [] : [{ verb: verb.toLowerCase(), of }]
    })
}

/** Whether an answer that has the right value lacks the form that the question asks for and the truth has. Bounded. */
export function lacksAskedForm(question: string, truth: Expression | undefined, answer: Expression): boolean {
  if (question === '' || truth === undefined || truth.kind === 'relation') return false
  const own = value(answer)
  if (isInOtherBase(question, truth, own)) return true
  return demands(question).some(({ verb, of }) => {
    if (form(of) === form(own) && form(of) !== form(truth)) return true
    if (namesIn(of).length === 0) return false
    if (verb.startsWith('factor'))
      return factors(truth) > 1 && factors(own) < factors(truth) && hasFactors(question, truth, own)
    if (/^(?:expand|multiply|distribute)/.test(verb)) return truth.kind === 'sum' && isUnexpanded(own)
    return false
  })
}

/** Whether a numeral has another base than the truth where the question names one. */
function isInOtherBase(question: string, truth: Expression, answer: Expression): boolean {
  if (answer.kind !== 'numeral' || (truth.kind !== 'numeral' && truth.kind !== 'number')) return false
  return (
    answer.base !== (truth.kind === 'numeral' ? truth.base : 10) &&
    /\b(?:base|binary|octal|decimal|hexadecimal)\b/i.test(question)
  )
}

/** A sum is not factored; a product with fewer factors is not factored completely. */
const hasFactors = (question: string, truth: Expression, answer: Expression): boolean =>
  factors(answer) < 2 || (/\b(?:complete|full)ly\b/i.test(question) && !isRadical(truth))

/** The last side of an equation: `x^2-9 = (x-3)(x+3)`. */
function value(of: Expression): Expression {
  return of.kind === 'relation' && of.ops.every((op) => op === '=') ? (of.sides.at(-1) ?? of) : of
}

/** How many factors with names a product has. */
function factors(of: Expression): number {
  if (of.kind === 'product') return of.factors.reduce((count, factor) => count + factors(factor), 0)
  if (of.kind === 'power') {
    const { exponent } = of
    const times =
      exponent.kind === 'number' && exponent.value.d === 1n && exponent.value.n > 0n && exponent.value.n < 50n
        ? Number(exponent.value.n)
        : 1
    return times * factors(of.base)
  }
  if (of.kind === 'quotient') return factors(of.over)
  return namesIn(of).length > 0 ? 1 : 0
}

const isRadical = (of: Expression): boolean => of.kind === 'call' || children(of).some(isRadical)

/** Whether a product or a whole power of sums stands where it could be multiplied out. */
function isUnexpanded(of: Expression): boolean {
  if (of.kind === 'sum') return of.terms.some(isUnexpanded)
  if (of.kind === 'product') return of.factors.some(isSumWithNames)
  return isSumWithNames(of) && of.kind === 'power'
}

function isSumWithNames(of: Expression): boolean {
  if (of.kind === 'power') return isWhole(of.exponent) && isSumWithNames(of.base)
  return of.kind === 'sum' && namesIn(of).length > 0
}

const isWhole = (of: Expression): boolean => of.kind === 'number' && of.value.d === 1n && of.value.n > 1n

/** The same text for expressions that differ in the order of their terms and factors only. */
function form(of: Expression): string {
  switch (of.kind) {
    case 'number':
      return `${of.value.n}/${of.value.d}`
    case 'numeral':
      return of.base === 10 ? `${BigInt(of.digits)}/1` : `${of.digits}_${of.base}`
    case 'symbol':
    case 'constant':
      return of.name
    case 'sum':
    case 'product':
      return `${of.kind}(${flat(of).map(form).sort().join(' ')})`
    case 'call':
      return `${of.name}(${of.args.map(form).join(' ')})`
    case 'measured':
      return form(of.of)
    case 'text':
      return of.text
    default:
      return `${of.kind}${'ops' in of ? of.ops.join('') : ''}(${children(of).map(form).join(' ')})`
  }
}

const flat = (of: Of<'sum'> | Of<'product'>): readonly Expression[] =>
  (of.kind === 'sum' ? of.terms : of.factors).flatMap((one) =>
    one.kind === of.kind ? flat(one as typeof of) : [one],
  )
