import { defineCommand } from '../command.ts'
import { flag, text } from '../options.ts'
import { RunClient, runOptions } from './run-client.ts'

const waitS = 30

/** Exit code 0, also if it was stopped while it followed a run. */
export const command = defineCommand({
  name: 'rewards',
  summary: 'prints the rewards of a run from the queue of a gateway',
  synopsis: ['--run NAME [--after CURSOR] [--follow] [--partials]'],
  about: `Prints a JSON line for each final of a run, in order of completion: uid, attempt, state, cursor, at and result. Without --follow
it ends when it has printed those that there are; with --follow it waits for more until it is stopped.

To go on later, give --after the cursor of the last line. The gateway may restart meanwhile.`,
  example: '--run run-7 --follow',
  options: {
    ...runOptions,
    after: text('CURSOR', 'prints only finals behind this one'),
    follow: flag('waits for further finals'),
    partials: flag('also prints early results, whose state is `partial`, of rollouts that asked for one'),
  },
  async run({ values }, io) {
    const client = new RunClient(values, 'rewards', io)
    const { follow, partials } = values
    let cursor = values.after ?? ''
    try {
      for (;;) {
        const asked = partials ? '&partials=true' : ''
        const query = `?wait_s=${follow ? waitS : 0}${asked}&after=${encodeURIComponent(cursor)}`
        const reply = await client.request(`/rewards${query}`)
        const results = [reply.partials, reply.results].flatMap((some) => (Array.isArray(some) ? some : []))
        for (const result of results) io.stdout.write(`${JSON.stringify(result)}\n`)
        cursor = typeof reply.cursor === 'string' ? reply.cursor : cursor
        if (results.length === 0 && !follow) return 0
      }
    } catch (error) {
      if (follow && io.signal.aborted) return 0
      throw error
    }
  },
})
