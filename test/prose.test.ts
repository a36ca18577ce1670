import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'

/**
 * Phrases that make the reader stop, and names that settings had before. Spelling is `npm run prose`. A new line here
 * comes with the change of every page that still has the phrase.
 */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/\btold of\b/i, 'write "reported"'],
  [/\btells of\b/i, 'write "reports" or "describes"'],
  [/\bof late\b/i, 'write "recent" or "recently"'],
  [/\b(?:hangs|hang) on the\b/i, 'write "depends on the"'],
  [/\brejects never\b/i, 'write "never rejects"'],
  [/\bbeside what\b/i, 'write "in addition to", or leave it out'],
  [/\bso long as it is not\b/i, 'write "until it is"'],
  [/\bso often over\b/i, 'write "times"'],
  [/\b(?:is|are|requests|samples|bodies|rows) in work\b/i, 'write "in progress"'],
  [/\bfor ever\b/i, 'write "forever"'],
  [/\b(?:is|are) told\b/i, 'write "is reported", or name who says it'],
  [/\bbegins? anew\b/i, 'write "restarts" or "starts again"'],
  [/\bwhat is no\b/i, 'write "what is not a"'],
  [/(?<!')[\u2013\u2014]/, 'write a comma, a colon or a full stop in place of a dash'],
]

const renamed: readonly (readonly [RegExp, string])[] = [
  [/\breports_as\b/, 'it is called served_model_aliases'],
  [/\bhedge\.after\b/, 'it is called hedge.quantile'],
  [/\bmax_queue_s\b/, 'it is called max_queue_wait_s'],
  [/\bwait_for_instance_s\b/, 'it is called wait_for_instance'],
  [/\bleave_s\b/, 'it is called shutdown.pre_stop_s'],
  [/\bdrain_s\b/, 'it is called shutdown.grace_s'],
  [/(?:arithmetic|mode): (?:sound|reference)\b/, 'the values are strict and published'],
  [/\bscheme: circular\b/, 'the value is ring'],
  [/\bsoft: (?:true|false)\b/, 'it is called verdict: expected or verdict: sampled'],
]

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name))

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'clients/python/README.md',
  'reward-functions/README.md',
  ...filesIn('docs', /\.md$/),
]

/** Fails with the place and the better words for each line that holds a phrase. */
function findIn(t: Test, file: string, text: string, list: typeof phrases): void {
  text.split('\n').forEach((line, at) => {
    for (const [phrase, better] of list) {
      const found = phrase.exec(line)?.[0]
      if (found !== undefined) t.fail(`${file}:${at + 1} has "${found}": ${better}`)
    }
  })
}

t.test('pages have none of the phrases that read as translated', async (t) => {
  for (const page of [...pages, 'CHANGELOG.md']) findIn(t, page, readFileSync(page, 'utf8'), phrases)
})

t.test('no line of prose has more than 400 characters', async (t) => {
  for (const page of pages) {
    const prose = readFileSync(page, 'utf8').replace(/^ *```.*?^ *```$/gms, (block) =>
      block.replace(/.+/g, ''),
    )
    prose.split('\n').forEach((line, at) => {
      if (line.length > 400 && !/^(?: {4}| *\|)/.test(line))
        t.fail(`${page}:${at + 1} has ${line.length} characters: cut it into short paragraphs or a list`)
    })
  }
})

t.test('pages call settings by their present names', async (t) => {
  for (const page of pages) {
    // The table of old names.
    const [current = ''] = readFileSync(page, 'utf8').split('## Renamed settings')
    findIn(t, page, current, renamed)
  }
})

t.test('comments of the code have none of the phrases', async (t) => {
  for (const folder of ['src', 'reward-functions'])
    for (const file of filesIn(folder, /\.tsx?$/)) {
      const comments = readFileSync(file, 'utf8').replace(/^(?!\s*(?:\/\*\*|\*|\/\/) ).*$/gm, '')
      findIn(t, file, comments, phrases)
    }
})
