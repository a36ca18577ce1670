import type { ShownStalls } from '../../http/inspector/messages.ts'
import { duration } from '../format.ts'
import { Scroll, TableHead } from './table.tsx'
import { Text } from './text.tsx'

/** What a reward waits for, by cause; docs/stalls.md and docs/queue.md define them. */
export const causes: Readonly<Record<string, string>> = {
  rule: 'a reward function',
  line: 'a place at a server',
  answer: 'the answer of a judge',
  hung: 'a call without an answer',
  sandbox: 'a program',
  group: 'other answers of the group',
  parked: 'any server of the model',
  gateway: 'the gateway itself',
  queue: 'a place among those being scored',
  paused: 'the next try',
  disk: 'the disk',
}

/** What the last reward of each recent training step of a run waited for. */
export function Stalls({ stalls: { run, steps } }: { readonly stalls: ShownStalls }) {
  const [last] = steps
  if (!last) return null
  const name = run === '' ? 'requests without a run' : run
  return (
    <details class="inner">
      <summary>
        {last.step === null ? 'The latest requests' : `Training step ${last.step}`}: the last reward came{' '}
        <b>{duration(last.ms)}</b> after the last arrival
        {last.shares[0] && (
          <>
            , mostly waiting for <Cause of={last.shares[0]} />
          </>
        )}
      </summary>
      <Scroll label={`Waits of ${name}`}>
        <table>
          <caption class="hidden">What the steps of {name} waited for</caption>
          <TableHead
            columns={[
              'Training step',
              ['Last arrival to last reward', 'number'],
              'What the last reward waited for',
            ]}
          />
          <tbody>
            {steps.map(({ step, ms, shares }) => (
              <tr>
                <th scope="row">{step ?? '–'}</th>
                <td class="number strong">{duration(ms)}</td>
                <td class="shares">
                  {shares.map((share) => (
                    <span class={`chip ${share.cause === 'hung' ? 'failed' : ''}`}>
                      <Cause of={share} /> <b>{duration(share.ms)}</b>
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}

function Cause({
  of: { cause, model },
}: {
  readonly of: { readonly cause: string; readonly model: string }
}) {
  return (
    <>
      {causes[cause] ?? cause}
      {model !== '' && (
        <>
          {': '}
          <Text of={model} />
        </>
      )}
    </>
  )
}
