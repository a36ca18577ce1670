/** Frequent words of languages that write a decimal comma, and of English, which writes a point. */
const commaWords =
  /(?<!\p{L})(?:der|die|das|und|ist|sind|ein|eine|mit|nicht|von|für|el|los|las|del|que|es|son|por|para|con|une|le|les|des|est|et|dans|pour|il|gli|di|sono|per|che|os|um|uma|em|é|het|een|van|и|в|на|не|это|jest|się|og|är|och|donc|luego|quindi|also|damit|lautet|respuesta|réponse|antwort|risposta|resposta|ответ|un|au|a\s+la|wie|kosten|kostet|sich|wird|werden|combien|coûte|coûtent|cuánt[oa]s?|cuesta|cuestan|quant[oaie]|сколько)(?!\p{L})/giu
const pointWords =
  /(?<!\p{L})(?:the|is|are|was|were|of|to|it|that|this|we|has|have|what|how|with|and|for|answer|per|each)(?!\p{L})/giu
/** A comma that separates no thousands, and no items of a list or a pair. */
const decimal =
  /(?<![\d.,]|\(\s?|[A-Za-z]\()(\d{1,15}),(?=\d{1,2}(?![\d.,]\d|\d)|\d{4,15}(?![\d.,]\d|\d)|(?<=(?<!\d)0,)\d{3}(?![\d.,]\d|\d))/g
const sample = 2000

const count = (text: string, words: RegExp): number => text.match(words)?.length ?? 0

/**
 * A text with decimal points for decimal commas if its own language, or for a text without words the question's, writes
 * commas: `0,375`. Its length stays. Linear.
 */
export function withDecimalPoints(text: string, question: string): string {
  if (!/\d,\d/.test(text)) return text
  const near = text.slice(-sample)
  const [commas, points] = [count(near, commaWords), count(near, pointWords)]
  const asked = question.slice(-sample)
  const isForeign =
    commas + points > 0 ? commas > points : count(asked, commaWords) > count(asked, pointWords)
  return isForeign ? text.replace(decimal, '$1.') : text
}
