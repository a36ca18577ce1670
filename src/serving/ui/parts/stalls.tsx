import type { ShownStalls } from '../../http/inspector/messages.ts'
import { duration } from '../format.ts'
import { Scroll, TableHead } from './table.tsx'
import { Text } from './text.tsx'

const words: Readonly<Record<string, string>> = {
  rule: 'Reward functions in worker threads and processes',
  line: 'Questions that waited for a place at a server of the model',
  answer: 'Servers that wrote their answer',
  hung: 'Calls that brought no answer: servers that hung, failed or were overtaken',
  sandbox: 'Programs that waited and ran',
  group: 'Answers of the group that did not come',
  parked: 'No server of the model could be asked',
  gateway: 'The gateway itself',
}

/** What the last reward of each recent training step of a run waited for. */
export function Stalls({ stalls: { run, steps } }: { readonly stalls: ShownStalls }) {
  const name = run === '' ? 'Requests without a run' : run
  return (
    <section class="panel" aria-label={`What the steps of ${name} waited for`}>
      <div class="panel-head">
        <h2>
          <Text of={name} />
        </h2>
        <p class="muted">
          From the last arrival of a training step to its last reward, by what that reward waited for
        </p>
      </div>
      <Scroll label={`Waits of ${name}`}>
        <table>
          <caption class="hidden">What the steps of {name} waited for</caption>
          <TableHead columns={['Training step', ['Waited', 'number'], 'For']} />
          <tbody>
            {steps.map(({ step, ms, shares }) => (
              <tr>
                <th scope="row">{step ?? '–'}</th>
                <td class="number strong">{duration(ms)}</td>
                <td>
                  {shares.map((share) => (
                    <span class={`chip ${share.cause === 'hung' ? 'failed' : ''}`} title={words[share.cause]}>
                      {share.cause} {share.model} <b>{duration(share.ms)}</b>
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}
