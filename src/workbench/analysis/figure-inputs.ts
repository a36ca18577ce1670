import { type Analysis, type AnalysisOptions, analyse } from './analysis.ts'
import { isTrainingLog, readTrainingRun, type TrainingRun } from './training-run.ts'

/** What files hold: scored rows by DuckDB, training logs by their lines; which is which shows in the first line. */
interface FigureInputs {
  readonly scored: readonly string[]
  readonly logs: readonly string[]
}

/** Tells scored files from training logs by their first lines; `logs` are taken for logs unseen. */
export async function sorted(files: readonly string[], logs: readonly string[]): Promise<FigureInputs> {
  const isLog = await Promise.all(files.map(isTrainingLog))
  return {
    scored: files.filter((_, at) => !isLog[at]),
    logs: [...files.filter((_, at) => isLog[at]), ...logs],
  }
}

/** The figures of both kinds. Throws RG_INPUT_INVALID naming the file. */
export async function figuresOf(
  { scored, logs }: FigureInputs,
  options: AnalysisOptions,
): Promise<{ readonly analysis: Analysis | null; readonly runs: readonly TrainingRun[] }> {
  const runs = await Promise.all(logs.map(readTrainingRun))
  return { analysis: scored.length > 0 ? await analyse(scored, options) : null, runs }
}
