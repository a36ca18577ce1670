import { once } from 'node:events'
import { startSimulatedServers } from '../../simulator/index.ts'
import { cannotListen } from './listening.ts'
import { readSimulateArguments } from './simulate-options.ts'

const usage = `reward-gateway simulate [options]

Starts simulated model servers that speak vLLM's and SGLang's API, prints a line \`MODEL URL\` for each, and serves until
it is stopped. They need no GPU and no weights: a scripted policy judges.

  --host HOST               where to listen (127.0.0.1)
  --port PORT               first of consecutive ports; 0, the default, takes free ones
  --count N                 how many servers (1)
  --model NAME              name of the served model (simulated-judge)
  --runner generate|pooling only these endpoints; all by default
  --engine vllm|sglang      only this server's endpoints, metrics and ways; both by default
  --policy NAME             reference (default), arithmetic, gullible, constant or solver
  --answers FILE            right answers: JSON {"piece of the question": answer}, or JSONL of samples
  --constant VALUE          the constant policy's verdict, 0 to 1, or its whole reply
  --success-rate RATE       the solver's share of right answers (0.5)
  --wrong-rate RATE         share of verdicts turned round (0)
  --undecided SCORE         the verdict where a policy has nothing to go by (0)
  --seed SEED               of everything that is drawn (0)
  --latency-median-ms MS    log-normal latency; 0, the default, answers at once
  --latency-sigma SIGMA     spread of the latency's logarithm (0)
  --speed FACTOR            0.2 is five times slower (1)
  --max-num-seqs N          sequences that run at once (256)
  --max-model-len TOKENS    the model's window (32768)
  --prefix-cache-blocks N   blocks of 16 tokens that it remembers (8192); 0: none
  --prefill-ms-per-token MS time for each prompt token that the cache lacks (0)
  --prefill-tokens-per-s N  reads prompts one after another at this rate; at once by default
  --decode-ms-per-token MS  time for each token that is written (0)
  --sleep-ms MS             time that falling asleep and waking take (0)
  --without-memory-saver    SGLang: a release frees nothing
  --enable-weights-cpu-backup  SGLang: weights survive a release; without it they come back as zeros
  --without-health-generation  SGLang: /health does not ask the model
  --dimensions N            length of an embedding (256)
  --thinking                thinks before it answers
  --reasoning-parser        puts thoughts into reasoning_content
  --fault KIND[:RATE][@PATH]  a fault at a rate from 0 to 1, on paths that begin with PATH; repeatable
                            or as JSON: '{"kind": "hang", "afterMs": 5000, "forMs": 60000, "recovery": "answer"}'
  --restart AFTER[:DOWN[:LOADING]]  seconds until it goes away, refuses connections, and loads; repeatable
  --control                 serves /simulate/faults, /simulate/restart, /simulate/kill, /simulate/stats, /simulate/state
  --control-port PORT       serves those at a port of their own, which stays while the server is down; first of --count`

/** The command `simulate`; `run` resolves with the exit code once the signal has aborted and all servers are closed. */
export const command = {
  summary: 'starts simulated model servers: judges without a GPU, with latency and faults on cue',
  usage,
  async run(argv: readonly string[], io: SimulateIo): Promise<number> {
    const { count, options } = readSimulateArguments(argv)
    const servers = await startSimulatedServers(count, options).catch((cause) => {
      throw cannotListen(cause, { host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
    })
    for (const { url } of servers) io.stdout.write(`${options.model ?? 'simulated-judge'} ${url}\n`)
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await Promise.all(servers.map((server) => server.close()))
    return 0
  },
}

/** What the command needs of the process. */
interface SimulateIo {
  readonly stdout: { write(text: string): unknown }
  readonly signal: AbortSignal
}
