/**
 * A large Parquet file scored by a rule: rows a second, CPU a thousand rows, and the most memory that the process had.
 * `npm run score-file -- [ROWS]`, 1,000,000 by default; each row has about 1 KB.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filePath, withDuckDb } from '../src/workbench/dataset/parquet.ts'

const rows = Number(process.argv[2] ?? 1_000_000)
const folder = await mkdtemp(join(tmpdir(), 'score-file-'))
const [input, output] = [join(folder, 'in.parquet'), join(folder, 'out.parquet')]
await withDuckDb(async (connection) => {
  await connection.run(`COPY (SELECT 'openai/gsm8k' AS data_source, [{'role': 'user', 'content': 'Question ' || i}] AS prompt,
      {'ground_truth': (i % 97)::VARCHAR} AS reward_model,
      repeat('One step more, ' || i || ' apples. ', 36) || chr(10) || '#### ' || (i % 89) AS response
    FROM range(${rows}) t(i)) TO '${input}' (FORMAT parquet, ROW_GROUP_SIZE 10000)`)
})
console.log(
  `${rows} rows, ${Math.round((await stat(input)).size / 2 ** 20)} MiB of Parquet, Node ${process.version}`,
)

const command = ['score', '--function', 'gsm8k-progressive', '--input', input, '--output', output]
const started = performance.now()
const child = spawn(process.execPath, ['dist/src/cli/main.js', ...command], { stdio: 'inherit' })
let [mostMib, cpu] = [0, 0]
const watch = setInterval(() => {
  try {
    mostMib = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    cpu = (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    // It has just ended: what was read last holds.
  }
}, 200)
const [code] = await once(child, 'exit')
clearInterval(watch)
const seconds = (performance.now() - started) / 1000
const [[scored] = []] = await withDuckDb(async (connection) =>
  (
    await connection.runAndReadAll(`SELECT count_if(valid)::INT FROM read_parquet(${filePath(output)})`)
  ).getRows(),
)
console.log(
  `exit code ${code}, ${scored} rows scored in ${seconds.toFixed(0)} s: ${Math.round(rows / seconds)} rows/s, ` +
    `${((cpu * 1000) / rows).toFixed(3)} CPU s a thousand rows, at most ${mostMib.toFixed(0)} MiB resident`,
)
await rm(folder, { recursive: true })
