import { readdirSync, readFileSync } from 'node:fs'

/** The processes below one, at any depth, a parent before its children; none once it has gone. */
export function descendantsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
        .trim()
        .split(' ')
        .filter(Boolean)
        .flatMap((child) => [Number(child), ...descendantsOf(Number(child))]),
    )
  } catch {
    return []
  }
}
