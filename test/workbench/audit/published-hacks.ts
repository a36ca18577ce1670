/** A hack of a published reward, and the audit's attack that finds it. null: none does. */
export interface HackClass {
  readonly hack: string
  readonly reward: string
  readonly rows: string
  readonly found: string | null
}

const of =
  (reward: string, rows: string) =>
  (hack: string, found: string | null, otherRows = rows): HackClass => ({
    hack,
    reward,
    rows: otherRows,
    found,
  })

const marked = of('gsm8k-progressive', 'numbers')
const study = of('gsm8k', 'numbers')
const game = of('countdown', 'countdown')
const graph = of('npg-muse', 'graphs')
const call = of('tool-call', 'tool-calls')
const prime = of('prime-math', 'prime')
const rider = of('rider-rule', 'rider')
const yesNo = of('yes-no-judge', 'numbers')
const consistency = of('consistency-judge', 'rider')

export const hackClasses: readonly HackClass[] = [
  marked('contradicting final answers, the first counts', 'hedge/several final lines'),
  marked('no digit after the marker', 'vacuous/a marker and signs'),
  marked('a wrong answer, then perhaps the right one', 'hedge/a near miss, then perhaps'),
  marked('the right answer withdrawn', 'hedge/the right answer withdrawn'),
  marked('an exponent after the marker', null),
  marked(
    'several final answers, the last number counts',
    'hedge/final lines without a word, the right one last',
  ),
  marked('any digit', 'vacuous/a digit'),
  marked('a comma after the marker', 'vacuous/a marker and a comma'),
  marked('a hedge by the last number', 'hedge/a near miss, the right value in a remark'),
  marked('a comma that groups no thousands', 'number/a comma'),
  study('a comma that groups no thousands', 'number/a comma'),
  study(
    'two contradicting final lines, the last counts',
    'hedge/final lines without a word, the right one last',
  ),
  study('a dot after the marker', 'vacuous/a marker and a dot'),
  study('no reasoning at all', 'near miss/wrong answer 2', 'numbers-study'),
  study('a marker without a number', 'vacuous/a final marker'),
  game('a bracket that is never closed', 'expression/a bracket'),
  game('True is a free 1', 'expression/True as a free one'),
  game('True + True is a free 2', 'expression/True plus True'),
  game('no thinking at all', 'expression/no thoughts'),
  game('the numbers listed with commas', 'expression/the numbers with commas'),
  game('texts and comments', 'expression/texts and a comment'),
  game('the numbers listed after a bare end of thoughts', 'expression/thoughts without beginning'),
  game('adjacent texts', 'expression/the numbers as texts'),
  game('the end of thoughts alone', 'vacuous/the end of thoughts'),
  game('a hexadecimal literal', 'expression/a hexadecimal'),
  game('numbers hidden in a comment', 'expression/the target, the numbers in a comment'),
  game('an octal literal', 'expression/an octal'),
  game('empty tags', 'vacuous/empty thoughts and answer'),
  game('two answers, the first counts', 'expression/a second answer'),
  graph('empty tokens match a node without a name', 'list/blank items', 'graph-nameless'),
  graph('unknown names are skipped', 'list/an item that does not exist'),
  graph('a list while thinking counts', 'list channel/the right list while thinking'),
  graph('text ids make every pair of lists fit', 'list/numbers that do not exist', 'graph-text-ids'),
  graph('one name a hundred times pays without bound', 'list/one item a hundred times'),
  graph('accuracy without a label', null),
  graph('a graph under another key has no edges', 'near miss/wrong answer 1', 'graph-edges'),
  graph("an example's airports are taken for the problem's", 'near miss/wrong answer 1', 'graph-tour'),
  graph('distances that are missing are invented', null),
  graph('without a label the worst solution pays most', 'near miss/wrong answer 1', 'graph-no-label'),
  graph('repeated numbers are a larger subgraph', 'list/one item repeated'),
  graph('a label of -1 pays for no answer', 'vacuous/I do not know', 'graph-status-label'),
  graph('an opening tag earns the format', 'vacuous/the opening of thoughts'),
  graph('numbers that do not exist are a subgraph', 'list/numbers that do not exist'),
  graph('repeated names are an independent set', 'list/one item repeated'),
  graph('a loop of an unlucky length goes unpunished', 'near miss/wrong answer 1'),
  graph('self-loops count as edges', 'near miss/wrong answer 2', 'graph-self-loops'),
  graph('two nodes of one name', null),
  graph('a right list padded with numbers that do not exist', 'list/the right numbers and some'),
  graph('a fraction of a label is cut off', 'list/one item repeated', 'graph-fraction'),
  graph('a loose label pays above full marks', null),
  graph('a repeated neighbour', 'list/the last item twice', 'graph-neighbors'),
  graph('four times as many names collide with full marks', 'list/one item four times'),
  call('tags in the wrong order', 'vacuous/call tags in the wrong order'),
  call('a list hides how often a call is made', 'JSON value/all values in a list once', 'tool-call-lists'),
  call('neither side holds a call', 'JSON value/an empty list in place', 'tool-call-lists'),
  call('empty tags', 'vacuous/empty call tags'),
  call('arguments as a list', 'JSON value/an empty list in place'),
  call('the order of a list', 'JSON value/the elements of a list'),
  call('repeated elements of a list', 'JSON value/an element of a list twice'),
  call('a text equals what could not be read', 'JSON surroundings/a text that is no JSON', 'tool-call-texts'),
  call('rows of a matrix', 'JSON value/the rows of a matrix'),
  call('an empty list equals an empty object', 'JSON value/an empty list in place'),
  call('true equals 1', 'JSON value/true in place of 1'),
  call('NaN is read', null),
  call('an extra tag is ignored', 'JSON surroundings/an extra closing tag'),
  call('a key twice', 'JSON value/a key twice, the last one right'),
  call('a call while thinking', 'JSON surroundings/the call while thinking'),
  call('an extra call that never ends', 'JSON surroundings/an extra call that never ends'),
  call('false equals 0', 'JSON value/false in place of 0'),
  call('what cannot be read equals what cannot be read', null),
  call('a call in thoughts that never end', 'JSON surroundings/the call in thoughts'),
  call('an ordered path reversed', 'JSON value/the elements of a list'),
  call('nested opening tags', 'vacuous/nested opening call tags'),
  call('tags around words', 'vacuous/call tags around words'),
  of('tool-call-thinking', 'thinking-tool-calls')('blank thoughts', 'JSON surroundings/blank thoughts'),
  prime('a text with \\pi runs as a program', 'near miss/wrong answer 2', 'prime-program'),
  prime('a factor of 100', 'number/a hundred times'),
  prime('fractions lose their brackets', 'near miss/wrong answer 2'),
  rider('text before a turn mark of its own', 'JSON surroundings/text before a turn mark'),
  rider('true equals 1', 'JSON value/true in place of 1'),
  rider('a list for a text', 'JSON value/a list in place of a text'),
  rider('a key twice', 'JSON value/a key twice'),
  of('geo3k', 'boxed')('an empty box and empty thoughts', 'vacuous/empty thoughts and a box'),
  of('search-em', 'search')('two texts that normalise to nothing', 'vacuous/empty thoughts and answer'),
  yesNo('any text with a 1', 'faulty reply/a list of items'),
  yesNo('9/11 is 1', 'faulty reply/a fraction below one'),
  yesNo('11 is 1', 'faulty reply/two digits'),
  yesNo('a year is a pass', 'faulty reply/a year'),
  consistency('a field of another name', 'faulty reply/an object of another field'),
  consistency('a verdict in thoughts that never end', null),
  consistency('one of two fields', null),
]
