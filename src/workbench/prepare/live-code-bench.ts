import { isPacked, unpacked } from '../../grading/packed-tests.ts'
import { type Fields, isObject } from '../dataset/row.ts'
import { type Family, textOf, Unusable } from './family.ts'

interface Test {
  readonly input: string
  readonly output: string
}

/** Problems of programming contests with public and packed private tests, as LiveCodeBench's code_generation_lite has them. */
export const liveCodeBench: Family = {
  name: 'livecodebench',
  source: '{"question_content", "public_test_cases", "private_test_cases", "starter_code", "metadata"}',
  ability: 'code',
  // Rows have no solutions, so no program runs here: the reward reads the tests, and needs no sandbox for that.
  steps: [{ name: 'tests', function: 'code-tests', sandbox: 'local', without_sandbox: 'invalid' }],
  columns: {
    groundTruth: 'STRUCT(inputs VARCHAR[], outputs VARCHAR[], fn_name VARCHAR)',
    extraInfo: {
      question_id: 'VARCHAR',
      platform: 'VARCHAR',
      difficulty: 'VARCHAR',
      contest_date: 'VARCHAR',
    },
  },
  rmPrompts: 0,
  read(row, { dataSource = 'livecodebench' }) {
    const tests = [...testsIn(row, 'public_test_cases'), ...testsIn(row, 'private_test_cases')]
    if (tests.length === 0) throw new Unusable('there are no tests')
    const fact = (name: string) => (typeof row[name] === 'string' ? row[name] : null)
    return {
      dataSource,
      prompt: [{ role: 'user', content: promptOf(row) }],
      groundTruth: {
        inputs: tests.map(({ input }) => input),
        outputs: tests.map(({ output }) => output),
        fn_name: functionOf(row.metadata),
      },
      extraInfo: {
        question_id: fact('question_id'),
        platform: fact('platform'),
        difficulty: fact('difficulty'),
        contest_date: fact('contest_date'),
      },
      gold: null,
      nearMiss: null,
    }
  },
}

const wholeProgram =
  'Write a Python program that reads the input from standard input and prints the answer. Put it into one ```python block.'
const completed = (starter: string) =>
  `Complete this Python code, and put all of it into one \`\`\`python block. It is called with the arguments of the tests.\n\n\`\`\`python\n${starter.trimEnd()}\n\`\`\``

function promptOf(row: Fields): string {
  const question = textOf(row, 'question_content').trim()
  const starter = typeof row.starter_code === 'string' ? row.starter_code : ''
  return `${question}\n\n${starter.trim() === '' ? wholeProgram : completed(starter)}`
}

/** A list, its JSON text, or that text packed. Nothing is unpickled. Throws Unusable for anything else. */
function testsIn(row: Fields, field: string): readonly Test[] {
  let value: unknown = row[field] ?? []
  if (typeof value === 'string') {
    const read = isPacked(value) ? unpacked(value) : { text: value }
    if ('problem' in read) throw new Unusable(`${field} cannot be read: ${read.problem}`)
    value = jsonOf(read.text, field)
  }
  if (!Array.isArray(value)) throw new Unusable(`${field} is no list of tests`)
  return value.map((test: unknown) => {
    if (!isObject(test) || typeof test.input !== 'string' || typeof test.output !== 'string')
      throw new Unusable(`${field} has a test without input or output`)
    return { input: test.input, output: test.output }
  })
}

/** The function that the tests call; null if the program reads standard input. */
function functionOf(metadata: unknown): string | null {
  const value =
    typeof metadata === 'string' && metadata.trim() !== '' ? jsonOf(metadata, 'metadata') : metadata
  const name = isObject(value) ? value.func_name : null
  if (name === undefined || name === null || name === '') return null
  if (typeof name === 'string') return name
  throw new Unusable('metadata.func_name is not a string')
}

function jsonOf(text: string, field: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Unusable(`${field} is not JSON`)
  }
}
