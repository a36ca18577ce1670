import type { ShownTest, ShownTests } from '../../telemetry/live/shown-tests.ts'
import { duration } from '../format.ts'
import { Kept, Text } from './text.tsx'

/** Tests that are shown one below the other before those that passed are folded. */
const mostOpen = 8

/** What became of the tests of a program: those that did not pass first, where there are many. */
export function Tests({ of }: { readonly of: ShownTests }) {
  const { compiled, asked, run, passed, tests } = of
  if (!compiled) return <p class="error">The program does not compile; no test was run.</p>
  const left = run - tests.length
  const isLong = tests.length > mostOpen
  const passing = isLong ? tests.filter((one) => one.passed) : []
  const open = isLong ? tests.filter((one) => !one.passed) : tests
  return (
    <section class="tests" aria-label="Tests">
      <p class="muted">
        {passed} of {asked} tests passed{run < asked && `, ${asked - run} were not run`}
        {left > 0 && `; ${left} of those that were run are not shown`}
      </p>
      <Rows of={open} />
      {passing.length > 0 && (
        <details>
          <summary>{passing.length} that passed</summary>
          <Rows of={passing} />
        </details>
      )}
    </section>
  )
}

const Rows = ({ of }: { readonly of: readonly ShownTest[] }) => (
  <ol class="rows-of-tests">
    {of.map((one) => (
      <li>
        <Row of={one} />
      </li>
    ))}
  </ol>
)

const inputs = { stdin: 'Standard input', call: 'Call', value: 'Expression', check: 'Statements' } as const

function Row({ of }: { readonly of: ShownTest }) {
  const { index, passed, ended, cpu_s, wall_s, error, kind, input, expected, value, stdout, stderr } = of
  return (
    <details class="asked">
      <summary>
        <b>Test {index + 1}</b>
        <span class={`chip ${passed ? 'scored' : 'failed'}`}>{passed ? 'passed' : endOf(of)}</span>
        <span class="muted">{duration((wall_s ?? cpu_s) * 1000)}</span>
        {!passed && typeof error === 'string' && error !== '' && <Text of={error} />}
      </summary>
      <p class="muted">
        Ended: {ended} · CPU {duration(cpu_s * 1000)}
        {wall_s !== null && ` · clock ${duration(wall_s * 1000)}`}
      </p>
      <Piece name={inputs[kind]} of={input} />
      {expected !== undefined && <Piece name="Expected" of={expected} />}
      {value !== undefined && <Piece name="Value" of={value} />}
      {stdout !== undefined && <Piece name="Standard output" of={stdout} />}
      {stderr !== undefined && <Piece name="Standard error" of={stderr} />}
    </details>
  )
}

const endOf = ({ ended }: ShownTest): string => (ended === 'ok' ? 'wrong' : ended)

const Piece = ({ name, of }: { readonly name: string; readonly of: unknown }) => (
  <>
    <h4>{name}</h4>
    <Kept of={of} label={name} />
  </>
)
