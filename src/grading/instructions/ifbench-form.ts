/** The kinds of IFBench that look at the form of a text. */
import { trimSpace, whiteSpace } from '../characters.ts'
import { type Instruction, instruction, keyword } from './instruction.ts'
import { bare, isLower, isUpper, linesOf, piecesOf, sentencesOf, stripped, tokensOf } from './reading.ts'

const hasSpace = new RegExp(`[${whiteSpace}]`)

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Whether five levels of brackets are open at once, and one is closed properly after that. */
function nests(text: string): boolean {
  const open: string[] = []
  let deepest = 0
  for (const character of text) {
    const closer = closers[character]
    if (closer !== undefined) {
      open.push(closer)
      deepest = Math.max(deepest, open.length)
    } else if (')]}'.includes(character)) {
      if (open.at(-1) !== character) {
        open.length = 0
        deepest = 0
        continue
      }
      open.pop()
      if (deepest >= 5) return true
    }
  }
  return false
}

/** Whether quotation marks nest three deep, in turns, and are closed. */
function nestsQuotes(text: string): boolean {
  const open: string[] = []
  let deepest = 0
  for (const character of text) {
    if (character !== '"' && character !== "'") continue
    if (open.at(-1) === character) {
      open.pop()
      if (open.length === 0 && deepest >= 3) return true
    } else {
      open.push(character)
      deepest = Math.max(deepest, open.length)
    }
  }
  return false
}

function punctuates(text: string): boolean {
  if (!['!?', '?!', '‽'].some((mark) => text.includes(mark))) return false
  const rest = text.includes('?!') ? text.replace('?!', '') : text.replace('!?', '')
  return ['.', ',', '!', '?', ';', ':'].every((mark) => rest.includes(mark))
}

/** Whether a text is one of the options: exactly for a list of letters, else without case and outer marks. */
function isOption(text: string, options: string): boolean {
  const separator = options.includes('/') ? '/' : options.includes('or') ? 'or' : ','
  const all = options.split(separator).map(trimSpace)
  const isLettered = /^\W*[Aa]\W*[Bb]\W*[Cc]\W*/.test(options)
  if (isLettered) return all.includes(text)
  return all.map((one) => stripped(one).toLowerCase()).includes(stripped(trimSpace(text)).toLowerCase())
}

const emoji = /^\p{Emoji_Presentation}$|^\p{Extended_Pictographic}$/u

/** Each sentence ends in an emoji, or the next one begins with it. */
function endsInEmoji(text: string): boolean {
  const sentences = sentencesOf(text)
  return sentences.every((sentence, at) => {
    const points = [...trimSpace(bare(sentence))]
    const next = [...trimSpace(bare(sentences[at + 1] ?? ''))]
    return [points.at(-1), points.at(-2), next[0]].some((one) => one !== undefined && emoji.test(one))
  })
}

/** Leading blanks grow from line to line. As in the original, a blank line after a removed one stays. */
function indents(text: string): boolean {
  const all = linesOf(text)
  const lines: string[] = []
  for (let at = 0; at < all.length; at++) {
    if (trimSpace(all[at] ?? '') === '') at++
    const line = all[at]
    if (line !== undefined) lines.push(line)
  }
  const depths = lines.map((line) => line.length - line.replace(/^ +/, '').length)
  return depths.every((depth, at) => at === 0 || depth > (depths[at - 1] ?? 0))
}

/** No quotation without words that follow it. */
function unquotes(text: string): boolean {
  const read = text.replaceAll('“', '"').replaceAll('”', '"').replaceAll(`'"'`, '').split(/\s+/).join('')
  if (read.includes('""')) return false
  let end = read.length
  while (end > 0 && /[0-9!#-/:-@[-`{-~]/.test(read.charAt(end - 1))) end--
  return read.charAt(end - 1) !== '"'
}

/** As in the original, both tags are taken for three characters and their ends for four. */
function hasThesis(text: string): boolean {
  const starts = [text.indexOf('<i>'), text.indexOf('<em>')]
  const start = starts.find((at) => at >= 0)
  if (start === undefined) return false
  const rest = text.slice(start)
  const end = [rest.indexOf('</i>'), rest.indexOf('</em>')].find((at) => at >= 0)
  return end !== undefined && trimSpace(rest.slice(3, end)) !== '' && trimSpace(rest.slice(end + 4)) !== ''
}

/** At least two sentences, then at least two lines with `*`, and nothing else. */
function sentencesThenBullets(text: string): boolean {
  const lines = linesOf(text)
  if (lines.some((line) => trimSpace(line) === '')) return false
  const first = lines.findIndex((line) => trimSpace(line).startsWith('*'))
  if (first < 0) return false
  const bullets = lines.slice(first)
  return (
    bullets.length >= 2 &&
    bullets.every((line) => trimSpace(line).startsWith('*')) &&
    sentencesOf(lines.slice(0, first).join('\n')).length >= 2
  )
}

const plain = (text: string): string => text.normalize('NFD').replace(/\p{Mn}/gu, '')

const capitals =
  'Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chisinau, Bern, Ljubljana, Zagreb'.split(
    ', ',
  )

/** Four questions with five options each, whose texts grow. */
function growingQuestions(text: string): boolean {
  if (!text.startsWith('Question')) return false
  const questions = text.split('Question').slice(1)
  if (questions.length !== 4) return false
  const lengths = questions.map((question) => {
    const lines = linesOf(question).filter((line) => trimSpace(line) !== '')
    const options = lines.filter((line) => /^\s*[A-Ea-e][).]/.test(line))
    return options.length === 5 ? [...(lines[0] ?? '')].length : -1
  })
  return lengths.every((length, at) => length >= 0 && (at === 0 || length > (lengths[at - 1] ?? 0)))
}

function reverseCountries(text: string): boolean {
  const lines = linesOf(plain(text)).map(trimSpace)
  const start = lines.findIndex((line) => line.includes('Zimbabwe'))
  if (start < 0) return false
  const countries = lines.slice(start).filter((line) => line !== '')
  return (
    countries.length >= 52 &&
    countries.every((country, at) => at === 0 || country < (countries[at - 1] ?? ''))
  )
}

/** The rows of a text of separated values; quoted fields may contain the separator. */
function rowsOf(text: string, separator: string): string[][] {
  const rows: string[][] = [[]]
  let field = ''
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (isQuoted) {
      if (character !== '"') field += character
      else if (text[at + 1] === '"') field += text[++at]
      else isQuoted = false
    } else if (character === '"' && field === '') isQuoted = true
    else if (character === separator || character === '\n') {
      rows.at(-1)?.push(field)
      field = ''
      if (character === '\n') rows.push([])
    } else if (character !== '\r') field += character
  }
  rows.at(-1)?.push(field)
  return rows
}

function table(text: string, header: string, separator: string, rows: number): string[][] | null {
  const found = rowsOf(text.endsWith('\n') ? text.slice(0, -1) : text, separator)
  const [first = [], ...rest] = found
  const wanted = header.split(',')
  if (first.join(',') !== header || rest.length !== rows) return null
  return rest.every((row) => row.length === wanted.length) ? rest : null
}

export const ifbenchForm: Readonly<Record<string, Instruction>> = {
  'count:punctuation': instruction({}, punctuates),
  'format:parentheses': instruction({}, nests),
  'format:quotes': instruction({}, nestsQuotes),
  'format:options': instruction({ options: keyword }, (text, { options }) => isOption(text, options)),
  'format:newline': instruction({}, (text) => {
    const own = bare(text)
    return linesOf(own).filter((line) => line !== '').length === piecesOf(own).length
  }),
  'format:emoji': instruction({}, endsInEmoji),
  'format:line_indent': instruction({}, indents),
  'format:quote_unquote': instruction({}, unquotes),
  'format:list': instruction({ sep: keyword }, (text, { sep }) => text.split(sep).length > 2),
  'format:thesis': instruction({}, hasThesis),
  'format:sub-bullets': instruction({}, (text) =>
    text
      .split('*')
      .slice(1)
      .every((part) => part.includes('-')),
  ),
  'format:no_bullets_bullets': instruction({}, sentencesThenBullets),
  'format:title_case': instruction({}, (text) =>
    tokensOf(text).every((token) => {
      const [first = '', ...rest] = [...token]
      const after = rest.join('')
      return !(isLower(first) && (isLower(after) || isUpper(after)))
    }),
  ),
  'format:output_template': instruction({}, (text) =>
    ['My Answer:', 'My Conclusion:', 'Future Outlook:'].every((heading) => text.includes(heading)),
  ),
  'format:no_whitespace': instruction({}, (text) => !hasSpace.test(text)),
  'custom:multiples': instruction(
    {},
    (text) => (text.match(/\p{Nd}+/gu) ?? []).join(' ') === '14 21 28 35 42 49',
  ),
  'custom:mcq_count_length': instruction({}, growingQuestions),
  'custom:reverse_newline': instruction({}, reverseCountries),
  'custom:word_reverse': instruction({}, (text) => {
    const turned = piecesOf(bare(text.toLowerCase())).reverse().join(' ')
    return sentencesOf(turned).length === 1 && turned.includes('bald eagle')
  }),
  'custom:character_reverse': instruction({}, (text) => text.toLowerCase().includes('elgae dlab')),
  'custom:sentence_alphabet': instruction({}, (text) => {
    const sentences = sentencesOf(text)
    return (
      sentences.length === 26 &&
      sentences.every((sentence, at) => sentence[0]?.toLowerCase() === String.fromCharCode(97 + at))
    )
  }),
  'custom:european_capitals_sort': instruction({}, (text) => {
    const found = plain(text)
      .split(',')
      .map(trimSpace)
      .filter((capital) => capital !== '')
    return found.length === capitals.length && found.every((capital, at) => capital === capitals[at])
  }),
  'custom:csv_city': instruction({}, (text) => table(text, 'ID,Country,City,Year,Count', ',', 7) !== null),
  'custom:csv_special_character': instruction({}, (text) => {
    const rows = table(text, 'ProductID,Category,Brand,Price,Stock', ',', 14)
    return rows?.some((row) => row.some((field) => /[^\w\s.]/.test(field))) ?? false
  }),
  'custom:csv_quotes': instruction({}, (text) => {
    const lines = linesOf(trimSpace(text))
    if (!lines.every((line) => line.split('\t').every((field) => /^".*"$/.test(trimSpace(field)))))
      return false
    return table(text, 'StudentID,Subject,Grade,Semester,Score', '\t', 3) !== null
  }),
  'custom:date_format_list': instruction({}, (text) =>
    text.split(',').every((one) => {
      const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(trimSpace(one)) ?? []
      if (year === undefined) return false
      return Number(year) >= 1769 && Number(year) <= 1821 && Number(month) <= 12 && Number(day) <= 31
    }),
  ),
}
