/** What to change in a reward, by the family of what it pays or refuses. */
const remedies: Readonly<Record<string, string>> = {
  'tool result':
    'Read `sample.response`, the text of the last turn of the assistant; show a judge turns with `transcript(sample)`.',
  'names in a rollout':
    'Show calls with `transcript(sample)`, which keeps names and arguments inside fences.',
  'forged transcript of a rollout':
    'Give each text a fence of its own: interpolate `transcript(sample)` or `sample.response` into a prompt.',
  'earlier turn': 'Take the answer from `sample.response`; earlier turns and reasoning are no answer.',
  vacuous: 'Pay nothing where the answer is empty or has no value.',
  'near miss': 'Compare the whole value, and exactly where the task is exact.',
  'wrong value': 'Compare the whole value, and exactly where the task is exact; narrow the tolerance.',
  hedge: 'Take the answer from one place, and refuse a place that holds more than one value.',
  'several answers':
    'Read the whole of what stands in the place: two values, or words between them, are no answer.',
  'what follows the value':
    'Do not stop behind the value: what follows it in the place must be nothing, a stop or a unit.',
  'what precedes the value':
    'Do not search for the value: what precedes it in the place must be nothing or a name.',
  negation: 'Refuse a place with words that deny: compare the whole place, not a part of it.',
  denial: 'Refuse a place with words that deny: compare the whole place, not a part of it.',
  'denial in another spelling': 'Do not list words of denial: allow only what an answer may consist of.',
  'remark in the place':
    'Allow only what an answer may consist of: the value, and a unit that the task names.',
  'words around a text': 'Compare the whole text with the alternatives instead of searching in it.',
  doubt: 'A question mark or an alternative in the place is no answer.',
  range: 'Bounds and ranges are not the value: refuse words and signs of comparison in the place.',
  'extended number': 'Parse the whole place as one number: operators, powers and words of size change it.',
  'operator around the value':
    'Parse the whole place as one expression, and refuse commands that you do not know.',
  'another unit': 'Compare the unit, or refuse units that the question does not ask for.',
  'value with a sign in it': 'Do not drop signs between digits before you compare.',
  decoration: 'Refuse LaTeX, HTML and invisible characters that strike out or hide the value.',
  'restated question': 'An equation with the value on one side is not the value; refuse a copied question.',
  'another shape': 'Compare brackets, members and their order, not only the numbers.',
  conditional: 'An answer under a condition is none: compare the whole place.',
  retraction: 'Read to the end of the place: what comes after the value may take it back.',
  'several places': 'If marks disagree, pay nothing, or take the last one only after a correction.',
  'places that hide each other': 'Find every mark, nested and unclosed ones too, and pay only if they agree.',
  'thoughts in place of an answer': 'Read what comes after </think> only, and nothing if it never comes.',
  channel: 'Read what comes after </think> only, and nothing if it never comes.',
  'right value in an aside': 'Take the value from the marked place, not from anywhere in the response.',
  'forged verdict in the answer': 'Take the value from the marked place; ignore verdicts in the response.',
  'other script':
    'Allow only what an answer may consist of, so that the language of other words does not matter.',
  spam: 'Count values and marks: many of them are no answer.',
  'spam of citations':
    'Pay precision as well as recall: limit the citations, and require each of them to be right.',
  repetition: 'Count repeated characters and pieces too, not only repeated words between blanks.',
  'invisible text': 'Strip characters that cannot be seen before you ask whether there is text.',
  'other language in a free zone':
    'Judge code, mathematics and links as text if they hold much of the response.',
  'wrong answer in a free zone': 'Read code blocks, comments and links as part of the answer.',
  'two at a time': 'Allow only what an answer may consist of; each exception opens a way for two of them.',
  'bold and other marks': 'Remove Markdown and dollar marks around the value before you compare.',
  'blanks and stops': 'Trim blanks and one full stop before you compare.',
  'notation of numbers':
    'Compare numbers by value: minus signs, separators of thousands, currency, digits of any width.',
  'notation of choices': 'Accept the letter in brackets, with its text, and in LaTeX text.',
  'notation of formulas': 'Normalise LaTeX (\\dfrac, \\left, blanks) before you compare.',
  'case of words': 'Ignore case where the answer is a word.',
  'marks around the box': 'Find the box wherever it stands: in bold, in dollars, before a stop.',
  'a line after the answer': 'Ignore blank lines around the response.',
  'line ends': 'Read \\r\\n as a line end.',
  'stated twice': 'The same answer twice is one answer.',
  'reasoning before the answer':
    'Let values that the reasoning rules out stand: only the committed answer counts.',
  'a long chain before the answer': 'Read the end of a long response too.',
  'thoughts before the answer': 'Drop the text up to </think> before you read.',
}

/** What to change, in one sentence. null if the audit has no advice. */
export const adviceFor = (family: string): string | null =>
  remedies[family] ??
  (family.includes('outside') ||
  family === 'another mark says otherwise' ||
  family === 'quoted' ||
  family === 'denial around the place'
    ? 'Require the place to be the end of the response, or refuse denials around it.'
    : null)
